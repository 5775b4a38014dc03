/*
 * index/btree_range.c
 *		Ranges of a B-tree's leaves, filled by several processes, and joined by one.
 *
 * Whoever fills a range knows neither what comes before it nor after it.  So its first leaf, which must be
 * linked with the one before, and its last leaf, which has no high key yet, stay in the shared memory.  All
 * others are written at once, and their downlinks go to a temporary file, one a range.  When all is done one
 * process goes through the ranges: it links and writes the leaves that were kept, and fills the levels above
 * out of the downlinks.
 */
#include "postgres.h"

#include <fcntl.h>

#include "storage/buffile.h"
#include "storage/sharedfileset.h"

#include "base/pg_compat.h"
#include "index/btree_range.h"

typedef struct Range
{
	uint64 leaves;
	BlockNumber first;
	BlockNumber last;
	PGAlignedBlock first_page; /* unless it is the last one, too */
	PGAlignedBlock last_page;
} Range;

struct BtreeShare
{
	BlockShare blocks;
	SharedFileSet files;
	int nranges;
	Range ranges[FLEXIBLE_ARRAY_MEMBER];
};

/* A range that is being filled; the arg of the levels. */
typedef struct Filling
{
	BtreeShare *share;
	int number;
	Range *range;
	BufFile *downlinks; /* of the second leaf and those after it; NULL: none yet */
} Filling;

Size
btree_share_size(int nranges)
{
	return add_size(offsetof(BtreeShare, ranges), mul_size(nranges, sizeof(Range)));
}

void
btree_share_init(BtreeShare *share, int nranges, dsm_segment *segment)
{
	block_share_init(&share->blocks, BTREE_METAPAGE + 1);
	SharedFileSetInit(&share->files, segment);
	share->nranges = nranges;
	for (int i = 0; i < nranges; i++)
		share->ranges[i].leaves = 0;
}

void
btree_share_attach(BtreeShare *share, dsm_segment *segment)
{
	SharedFileSetAttach(&share->files, segment);
}

BlockShare *
btree_share_blocks(BtreeShare *share)
{
	return &share->blocks;
}

static void
name_file(char *name, int range)
{
	snprintf(name, MAXPGPATH, "downlinks.%d", range);
}

/* ---------------------------------------------------------------- filling a range */

static void
write_downlink(Filling *filling, IndexTuple downlink)
{
	char name[MAXPGPATH];

	if (filling->downlinks == NULL)
	{
		name_file(name, filling->number);
		filling->downlinks = BufFileCreateFileSet(&filling->share->files.fs, name);
	}
	buffile_write(filling->downlinks, downlink, IndexTupleSize(downlink));
}

static void
leaf_is_complete(BtreeLevels *levels, IndexTuple downlink)
{
	Filling *filling = levels->arg;
	Range *range = filling->range;
	BlockNumber block = levels->leaves->block;

	if (range->leaves++ == 0)
	{
		range->first = block;
		block_writer_take_back(levels->blocks, block, (Page) range->first_page.data);
	}
	else
		write_downlink(filling, downlink);
}

void
btree_range_begin(BtreeLevels *levels, BtreeShare *share, int range)
{
	Filling *filling = palloc0(sizeof(Filling));

	Assert(range >= 0 && range < share->nranges);
	filling->share = share;
	filling->number = range;
	filling->range = &share->ranges[range];
	levels->leaves = NULL;
	levels->leaf_is_complete = leaf_is_complete;
	levels->arg = filling;
}

/* Keeps the last leaf, as it is. */
static void
keep_last_leaf(BtreeLevels *levels, Filling *filling)
{
	Range *range = filling->range;
	BtreeLevel *leaves = levels->leaves;

	range->last = leaves->block;
	block_writer_take_back(levels->blocks, leaves->block, (Page) range->last_page.data);
	if (range->leaves++ == 0)
		range->first = range->last;
	else
		write_downlink(filling, leaves->low_key);
	pfree(leaves->low_key);
	pfree(leaves);
	levels->leaves = NULL;
}

void
btree_range_end(BtreeLevels *levels)
{
	Filling *filling = levels->arg;

	if (levels->leaves != NULL)
		keep_last_leaf(levels, filling);
	if (filling->downlinks != NULL)
	{
		BufFileExportFileSet(filling->downlinks);
		BufFileClose(filling->downlinks);
	}
	pfree(filling);
	levels->leaf_is_complete = NULL;
	levels->arg = NULL;
}

/* ---------------------------------------------------------------- joining the ranges */

static void
read_bytes(BufFile *file, void *bytes, Size size)
{
	if (buffile_read(file, bytes, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(), errmsg("could not read from temporary file of downlinks: %m")));
}

static IndexTuple
read_downlink(BufFile *file, PGAlignedBlock *memory)
{
	IndexTuple downlink = (IndexTuple) memory->data;

	read_bytes(file, downlink, sizeof(IndexTupleData));
	read_bytes(file, downlink + 1, IndexTupleSize(downlink) - sizeof(IndexTupleData));
	return downlink;
}

/* A range's leaves but the first; the last one is not complete. */
static void
join_other_leaves(BtreeLevels *levels, BtreeShare *share, int number)
{
	Range *range = &share->ranges[number];
	PGAlignedBlock memory;
	char name[MAXPGPATH];
	BufFile *file;

	name_file(name, number);
	file = BufFileOpenFileSet(&share->files.fs, name, O_RDONLY, false);
	for (uint64 leaf = 2; leaf < range->leaves; leaf++)
		btree_levels_pass_leaf(levels, read_downlink(file, &memory));
	btree_levels_take_leaf(levels, (Page) range->last_page.data, range->last, read_downlink(file, &memory));
	BufFileClose(file);
}

static IndexTuple
first_tuple(Page page)
{
	return (IndexTuple) PageGetItem(page, PageGetItemId(page, P_FIRSTKEY));
}

static void
join_range(BtreeLevels *levels, BtreeShare *share, int number)
{
	Range *range = &share->ranges[number];
	Page page = (Page) (range->leaves == 1 ? range->last_page.data : range->first_page.data);

	if (levels->leaves != NULL)
	{
		btree_levels_end_leaf(levels, first_tuple(page), range->first);
		BTPageGetOpaque(page)->btpo_prev = levels->leaves->block;
	}
	btree_levels_take_leaf(levels, page, range->first, NULL);
	if (range->leaves > 1)
	{
		btree_levels_put_leaf(levels);
		join_other_leaves(levels, share, number);
	}
}

void
btree_ranges_join(BtreeLevels *levels, BtreeShare *share)
{
	for (int i = 0; i < share->nranges; i++)
	{
		if (share->ranges[i].leaves > 0)
			join_range(levels, share, i);
	}
}
