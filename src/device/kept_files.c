/*
 * device/kept_files.c
 *		Files without names that a session keeps for its next sort.
 *
 * Files that are kept stay mapped, so that the first process finds their pages where they were.  What they
 * hold is a piece each of what the session keeps (base/kept_memory.h).
 */
#include "postgres.h"

#include "base/kept_memory.h"
#include "device/kept_files.h"

/* None are kept: there are no files. */
static struct
{
	MemoryFiles files;
	KeptPiece pieces[SHARED_FILES_MAX]; /* what each file has */
	int npieces;						/* that kept_memory has */
} kept;

/* Nothing of a file that is kept is left; without any of them there is no use in the others' addresses. */
static void
give_back_file(KeptPiece *piece)
{
	MemoryFiles files = kept.files;

	if (--kept.npieces > 0)
		return;
	kept.files = (MemoryFiles){0};
	memory_files_close(&files, true);
}

/* What each file may hold, so that all together hold no more than may be kept. */
static void
share_limit(int nfiles, const Size *used, Size *held)
{
	Size limit = kept_memory_limit();
	Size memory = 0;
	double share;

	for (int i = 0; i < nfiles; i++)
		memory += used[i];
	share = memory > limit ? (double) limit / memory : 1.0;
	for (int i = 0; i < nfiles; i++)
		held[i] = (Size) (used[i] * share);
}

/* Moves files to those that are kept. */
static void
keep(MemoryFiles *files, const Size *held)
{
	kept.files = *files;
	kept.npieces = 1; /* until all are there */
	*files = (MemoryFiles){.size = files->size};
	for (int i = 0; i < kept.files.nfiles; i++)
	{
		KeptPiece piece = {kept.files.address + i * kept.files.size, held[i], true, give_back_file, NULL};

		kept.pieces[i] = piece;
		if (kept_memory_put(&kept.pieces[i]))
			kept.npieces++;
		else
			kept_memory_cut(&kept.pieces[i], 0);
	}
	give_back_file(NULL);
}

bool
kept_files_put(MemoryFiles *files, const Size *used)
{
	Size held[SHARED_FILES_MAX];

	kept_memory_release(0);
	if (kept_memory_limit() == 0)
		return false;
	share_limit(files->nfiles, used, held);
	memory_files_cut(files, held);
	keep(files, held);
	return true;
}

bool
kept_files_take(MemoryFiles *files, Size *held)
{
	if (kept.files.nfiles == 0)
		return false;
	for (KeptPiece *piece = kept_memory_first(); piece != NULL;)
	{
		KeptPiece *next = piece->next;

		if (piece->give_back == give_back_file)
		{
			kept_memory_take(piece);
			held[piece - kept.pieces] = piece->held;
		}
		piece = next;
	}
	*files = kept.files;
	kept.files = (MemoryFiles){0};
	return true;
}
