/*
 * base/kept_memory.c
 *		Memory of a session's last sorts that is kept for its next one.
 *
 * A kernel takes a third of a microsecond and more to make a page of 4 kB and to clear it; a sort of a
 * million rows touches 25,000 of them.  So what a sort has used stays with the session, up to
 * gpusort.kept_memory and what the sort itself might use, and for KEPT_MS: a session that has sorted nothing
 * for so long holds nothing.
 *
 * Nothing of ours runs in a session that waits for its client, or that is busy with something else, except
 * the handler of a timeout, which is a signal handler: it may interrupt malloc and anything else.  So it
 * frees nothing.  It tells the kernel that the contents of pages are not wanted (madvise, a bare system
 * call), which makes them free memory at once, and leaves addresses and descriptors to who comes here next.
 * As it may run while a spinlock is held it gives back a few megabytes a time.
 *
 * The handler changes nothing but the pieces' sizes, and only downwards; all others link and unlink pieces by
 * single stores.  So what it sees is a list, whenever it comes, and who wants to rely on a piece's size
 * unlinks it first.
 *
 * All is given back when a transaction ends with an error, since that may be for want of memory, and timeouts
 * are forgotten then; and by DISCARD ALL and with gpusort.mode off.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "port/atomics.h"
#include "tcop/utility.h"
#include "utils/timeout.h"
#include "utils/timestamp.h"

#include "base/guc.h"
#include "base/kept_memory.h"
#include "base/pg_compat.h"

/* What is kept is given back so long after a sort has put something here. */
#ifndef KEPT_MS
#define KEPT_MS 5000
#endif

/* By the handler so many bytes each time, and then again after so long. */
#define GIVE_BACK_STEP ((Size) 8 * 1024 * 1024)
#define GIVE_BACK_EVERY_MS 10

/* Pieces are multiples of it, whatever the kernel's pages are. */
#define PIECE_UNIT ((Size) 4096)

static uintptr_t page_size = 4096;

static KeptPiece *volatile pieces;

/* Of the sort that began last; and what all use. */
static Size sort_limit;
static int64 in_use;

static bool ready; /* may this process keep anything? */
static TimeoutId timeout;
static volatile TimestampTz last_put;

static ProcessUtility_hook_type previous_utility_hook;

/* ---------------------------------------------------------------- giving back */

/* Has the kernel free what a piece holds beyond so many bytes; in a signal handler, too. */
static void
shrink(KeptPiece *piece, Size held)
{
	char *from = (char *) TYPEALIGN(page_size, piece->address + held);
	char *to = (char *) TYPEALIGN_DOWN(page_size, piece->address + piece->held);

	if (from < to)
		(void) madvise(from, to - from, piece->in_file ? MADV_REMOVE : MADV_DONTNEED);
	piece->held = held;
}

void
kept_memory_cut(KeptPiece *piece, Size held)
{
	held = TYPEALIGN(PIECE_UNIT, held);
	if (held < piece->held)
		shrink(piece, held);
}

/* A sort has ended KEPT_MS ago, or later; or this was begun with. */
static void
give_back_when_idle(void)
{
	Size left = GIVE_BACK_STEP;
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz due = TimestampTzPlusMilliseconds(last_put, KEPT_MS);

	if (now < due)
	{
		enable_timeout_at(timeout, due);
		return;
	}
	for (KeptPiece *piece = pieces; piece != NULL && left > 0; piece = piece->next)
	{
		Size step = Min(left, piece->held);

		shrink(piece, piece->held - step);
		left -= step;
	}
	if (left == 0)
		enable_timeout_after(timeout, GIVE_BACK_EVERY_MS);
}

/* Unlinks pieces of which nothing is left. */
static void
sweep(void)
{
	for (KeptPiece *piece = pieces; piece != NULL;)
	{
		KeptPiece *next = piece->next;

		if (piece->held == 0)
		{
			kept_memory_take(piece);
			piece->give_back(piece);
			next = pieces; /* others may be gone with it */
		}
		piece = next;
	}
}

void
kept_memory_release(Size at_most)
{
	Size total = kept_memory_total();

	if (pieces == NULL)
		return;
	for (KeptPiece *piece = pieces; piece != NULL && total > at_most; piece = piece->next)
	{
		Size held = piece->held;
		Size less = TYPEALIGN_DOWN(PIECE_UNIT, held - Min(held, total - at_most));

		shrink(piece, less);
		total -= held - less;
	}
	sweep();
}

/* ---------------------------------------------------------------- pieces */

Size
kept_memory_total(void)
{
	Size total = 0;

	for (const KeptPiece *piece = pieces; piece != NULL; piece = piece->next)
		total += piece->held;
	return total;
}

KeptPiece *
kept_memory_first(void)
{
	return pieces;
}

Size
kept_memory_limit(void)
{
	return ready && gpusort_mode != GPUSORT_MODE_OFF ? Min(guc_kept_memory(), sort_limit) : 0;
}

bool
kept_memory_put(KeptPiece *piece)
{
	Size limit = kept_memory_limit();
	Size total = kept_memory_total();

	if (total >= limit)
		return false;
	kept_memory_cut(piece, TYPEALIGN_DOWN(PIECE_UNIT, limit - total));
	if (piece->held == 0)
		return false;
#ifdef KEPT_MEMORY_SPOILED
	memset(piece->address, 0x7f, piece->held);
#endif
	piece->next = pieces;
	pg_compiler_barrier();
	pieces = piece;
	last_put = GetCurrentTimestamp();
	if (!get_timeout_active(timeout))
		enable_timeout_after(timeout, KEPT_MS);
	return true;
}

void
kept_memory_take(KeptPiece *piece)
{
	if (pieces == piece)
		pieces = piece->next;
	else
	{
		KeptPiece *before = pieces;

		while (before->next != piece)
			before = before->next;
		before->next = piece->next;
	}
	pg_compiler_barrier();
	piece->next = NULL;
}

/* ---------------------------------------------------------------- sorts */

static void
at_transaction_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT)
		kept_memory_release(0);
}

void
kept_memory_begin_sort(Size limit)
{
	if (MyBackendType != B_BACKEND)
		return;
	if (!ready)
	{
		timeout = RegisterTimeout(USER_TIMEOUT, give_back_when_idle);
		RegisterXactCallback(at_transaction_end, NULL);
		ready = true;
	}
	sort_limit = limit;
	kept_memory_release(kept_memory_limit());
}

void
kept_memory_note_use(int64 bytes)
{
	in_use += bytes;
	if (bytes > 0 && pieces != NULL)
		kept_memory_release(Max((int64) sort_limit - in_use, 0));
}

/* ---------------------------------------------------------------- DISCARD ALL */

static void
see_utility(process_utility_parameters)
{
	const Node *statement = pstmt->utilityStmt;

	if (IsA(statement, DiscardStmt) && ((const DiscardStmt *) statement)->target == DISCARD_ALL)
		kept_memory_release(0);
	if (previous_utility_hook != NULL)
		previous_utility_hook(process_utility_arguments);
	else
		standard_ProcessUtility(process_utility_arguments);
}

void
kept_memory_install_hooks(void)
{
	page_size = Max(sysconf(_SC_PAGESIZE), PIECE_UNIT);
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = see_utility;
}
