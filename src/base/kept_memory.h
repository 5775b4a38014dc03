/*
 * base/kept_memory.h
 *		Memory of a session's last sorts that is kept for its next one.
 *
 * Who has memory that is worth keeping puts it here as pieces, ranges of addresses, and takes them out again
 * to use them.  A piece may shrink while it is here, from its end and down to nothing, by a signal handler
 * too: what it has left is to be read when it was taken.  Memory that is kept holds whatever its last user
 * left in it.
 */
#ifndef GPUSORT_BASE_KEPT_MEMORY_H
#define GPUSORT_BASE_KEPT_MEMORY_H

#include "postgres.h"

typedef struct KeptPiece
{
	char *address;								/* of a page */
	volatile Size held;							/* bytes from there on that are memory, whole pages */
	bool in_file;								/* of a file that is mapped here, or of this process alone? */
	void (*give_back)(struct KeptPiece *piece); /* it was taken out, as nothing is held; must not fail */
	struct KeptPiece *next;
} KeptPiece;

/*
 * A sort begins that may use so many bytes: what is kept, and what is in use, shall be no more together.  In
 * processes that are no client's nothing is kept.
 */
extern void kept_memory_begin_sort(Size limit);

/* Bytes that may be kept now. */
extern Size kept_memory_limit(void);

/*
 * Keeps a piece, as much of it as may be; false: nothing of it, and it is still the caller's.  Raises no
 * error.
 */
extern bool kept_memory_put(KeptPiece *piece);

/* The piece is the caller's again. */
extern void kept_memory_take(KeptPiece *piece);

/* The pieces there are, and bytes that they hold. */
extern KeptPiece *kept_memory_first(void);
extern Size kept_memory_total(void);

/* Of a piece that is nobody else's, gives back what is beyond so many bytes. */
extern void kept_memory_cut(KeptPiece *piece, Size held);

/* Gives memory back until no more than this is kept. */
extern void kept_memory_release(Size at_most);

/*
 * Memory that sorts have taken, or given back if negative, besides what is kept: gives back what is kept as
 * far as both together would be more than the sort may use that began last.
 */
extern void kept_memory_note_use(int64 bytes);

extern void kept_memory_install_hooks(void);

#endif /* GPUSORT_BASE_KEPT_MEMORY_H */
