/*
 * base/huge_memory.c
 *		The large allocations of sorts, which the session keeps for its next one.
 *
 * A block is a piece of a context of the session's, with a header in front.  It belongs to the memory context
 * that was current when it was allocated, by way of a reset callback, one for all blocks of that context; so
 * errors, cancels and aborts free it.  What is freed is kept (kept_memory.h) or given to the context.
 *
 * A block that is kept is used again for as many bytes as it has, or down to half as many; what is more than
 * is wanted goes back to the kernel, so that a sort never has more than it has asked for.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/huge_memory.h"
#include "base/huge_pages.h"
#include "base/kept_memory.h"

#define SMALL_PAGE_SIZE ((uintptr_t) 4096)

/* What is smaller is not kept; and a block is not cut for less. */
#ifndef KEPT_BLOCK_MIN
#define KEPT_BLOCK_MIN ((Size) 64 * 1024)
#endif

typedef struct Block
{
	KeptPiece piece; /* its whole pages */
	Size size;		 /* that can be used, behind the header */
	Size used;		 /* that are */
	struct Owner *owner;
	struct Block *next; /* of the owner's */
	struct Block *previous;
} Block;

#define HEADER_SIZE TYPEALIGN(64, sizeof(Block))

/* A memory context that blocks belong to; in it. */
typedef struct Owner
{
	MemoryContextCallback callback;
	MemoryContext context;
	Block *blocks;
	struct Owner *next;
} Owner;

static Owner *owners;

/* Where blocks are, in use or kept; there is one as long as there are blocks. */
static MemoryContext blocks_context;
static uint64 nblocks;

static char *
memory_of(Block *block)
{
	return (char *) block + HEADER_SIZE;
}

/* ---------------------------------------------------------------- freeing */

/* malloc may keep what it is given, so that it goes back to the kernel before. */
static void
free_block(Block *block)
{
	kept_memory_cut(&block->piece, 0);
	pfree(block);
	if (--nblocks > 0)
		return;
	MemoryContextDelete(blocks_context);
	blocks_context = NULL;
}

static void
give_back_block(KeptPiece *piece)
{
	free_block((Block *) piece); /* a block begins with its piece */
}

static void
release_block(Block *block)
{
	char *start = (char *) TYPEALIGN(SMALL_PAGE_SIZE, memory_of(block));
	char *end = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, memory_of(block) + block->used);

	kept_memory_note_use(-(int64) block->used);
	block->piece.address = start;
	block->piece.held = end > start ? end - start : 0;
	if (block->used < KEPT_BLOCK_MIN || !kept_memory_put(&block->piece))
		free_block(block);
}

/* The context is reset or deleted. */
static void
release_blocks(void *arg)
{
	Owner *owner = arg;
	Owner **link = &owners;

	while (*link != owner)
		link = &(*link)->next;
	*link = owner->next;
	while (owner->blocks != NULL)
	{
		Block *block = owner->blocks;

		owner->blocks = block->next;
		release_block(block);
	}
}

void
huge_free(void *p)
{
	Block *block = (Block *) ((char *) p - HEADER_SIZE);

	if (block->previous != NULL)
		block->previous->next = block->next;
	else
		block->owner->blocks = block->next;
	if (block->next != NULL)
		block->next->previous = block->previous;
	release_block(block);
}

/* ---------------------------------------------------------------- allocating */

static Owner *
current_owner(void)
{
	Owner *owner;

	for (owner = owners; owner != NULL; owner = owner->next)
	{
		if (owner->context == CurrentMemoryContext)
			return owner;
	}
	owner = palloc0(sizeof(Owner));
	owner->context = CurrentMemoryContext;
	owner->callback.func = release_blocks;
	owner->callback.arg = owner;
	owner->next = owners;
	owners = owner;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &owner->callback);
	return owner;
}

/* The smallest block that is kept and fits. */
static Block *
find_kept_block(Size size)
{
	Block *best = NULL;

	for (KeptPiece *piece = kept_memory_first(); piece != NULL; piece = piece->next)
	{
		Block *block = (Block *) piece;

		if (piece->give_back == give_back_block && block->size >= size && block->size / 2 <= size &&
			(best == NULL || block->size < best->size))
			best = block;
	}
	return best;
}

/* A block that is kept, without memory beyond so many bytes; NULL: none. */
static Block *
take_kept_block(Size size)
{
	Block *block = find_kept_block(size);

	if (block == NULL)
		return NULL;
	kept_memory_take(&block->piece);
	if (block->size - size >= KEPT_BLOCK_MIN)
		kept_memory_cut(&block->piece, memory_of(block) + size - block->piece.address);
	return block;
}

static void *
allocate_memory(Size size, int flags)
{
	if (blocks_context == NULL)
		blocks_context = AllocSetContextCreate(TopMemoryContext, "GpuSort memory", ALLOCSET_SMALL_SIZES);
	return MemoryContextAllocExtended(blocks_context, size, MCXT_ALLOC_HUGE | flags);
}

static Block *
allocate_block(Size size)
{
	Block *block = allocate_memory(HEADER_SIZE + size, MCXT_ALLOC_NO_OOM);

	if (block == NULL)
	{
		kept_memory_release(0);
		block = allocate_memory(HEADER_SIZE + size, 0);
	}
	nblocks++;
	memset(block, 0, sizeof(Block));
	block->piece.give_back = give_back_block;
	block->size = size;
	return block;
}

/* From now on it is freed with its owner. */
static void
link_block(Block *block, Owner *owner, Size size)
{
	block->used = size;
	block->owner = owner;
	block->previous = NULL;
	block->next = owner->blocks;
	if (block->next != NULL)
		block->next->previous = block;
	owner->blocks = block;
	kept_memory_note_use((int64) size);
}

void *
huge_alloc(Size size)
{
	Owner *owner = current_owner();
	Block *block = take_kept_block(size);
	Size provided = 0;

	if (block != NULL)
		provided = block->piece.address + block->piece.held - memory_of(block);
	else
	{
		kept_memory_note_use((int64) size);
		kept_memory_note_use(-(int64) size);
		block = allocate_block(size);
	}
	link_block(block, owner, size);
	if (provided < size)
		huge_pages_provide(memory_of(block) + provided, size - provided);
	return memory_of(block);
}
