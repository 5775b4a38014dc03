/*
 * memory/alloc.c
 *		The large allocations of one process.
 *
 * malloc keeps of what is freed up to 64 MB in a process, in case it is wanted again.  As an idle session
 * shall not have it, the kernel gets a block's pages back before malloc has the block.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "nodes/memnodes.h"
#include "utils/memutils.h"

#include "memory/alloc.h"
#include "memory/keep.h"
#include "memory/pages.h"

/* Who allocates so much at once needs memory that others may have. */
#define MUCH_MEMORY ((Size) 4 * 1024 * 1024)

/* In front of the memory. */
typedef struct Block
{
	MemoryContextCallback callback;
	Size size;
} Block;

#define HEADER_SIZE TYPEALIGN(64, sizeof(Block))

/* The block is about to be freed. */
static void
give_pages_back(void *arg)
{
	Block *block = arg;
	char *from = (char *) TYPEALIGN(SMALL_PAGE_SIZE, (char *) block + HEADER_SIZE);
	char *to = (char *) TYPEALIGN_DOWN(SMALL_PAGE_SIZE, (char *) block + HEADER_SIZE + block->size);

	if (from < to)
		(void) madvise(from, to - from, MADV_DONTNEED);
}

void *
huge_reserve(Size size)
{
	Block *block;

	if (size >= MUCH_MEMORY)
		keep_free();
	block = MemoryContextAllocHuge(CurrentMemoryContext, HEADER_SIZE + size);
	block->size = size;
	block->callback.func = give_pages_back;
	block->callback.arg = block;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &block->callback);
	return (char *) block + HEADER_SIZE;
}

void *
huge_alloc(Size size)
{
	char *memory = huge_reserve(size);

	pages_provide_private(memory, size);
#ifdef MEMORY_SPOILED
	memset(memory, 0x7f, size);
#endif
	return memory;
}

void
huge_free(void *p)
{
	Block *block = (Block *) ((char *) p - HEADER_SIZE);
	MemoryContextCallback **link = &GetMemoryChunkContext(block)->reset_cbs;

	while (*link != &block->callback)
		link = &(*link)->next;
	*link = block->callback.next;
	give_pages_back(block);
	pfree(block);
}
