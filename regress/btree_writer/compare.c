/*
 * regress/btree_writer/compare.c
 *		Compares the pages of two indexes, for tests.
 *
 * CREATE FUNCTION first_difference(a regclass, b regclass) RETURNS text LANGUAGE C STRICT AS 'btree_writer';
 */
#include "postgres.h"

#include "access/genam.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(first_difference);

/* A block without what depends on when it was written: its LSN, its checksum, and what is in its hole. */
static void
read_content(Relation index, BlockNumber block, PGAlignedBlock *content)
{
	Buffer buffer = ReadBuffer(index, block);
	PageHeader header = (PageHeader) content->data;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(content->data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	memset(&header->pd_lsn, 0, sizeof(header->pd_lsn));
	header->pd_checksum = 0;
	if (header->pd_lower >= SizeOfPageHeaderData && header->pd_lower < header->pd_upper &&
		header->pd_upper <= BLCKSZ)
		memset(content->data + header->pd_lower, 0, header->pd_upper - header->pd_lower);
}

static char *
find_difference(Relation a, Relation b)
{
	BlockNumber a_blocks = RelationGetNumberOfBlocks(a);
	BlockNumber b_blocks = RelationGetNumberOfBlocks(b);
	PGAlignedBlock a_content, b_content;

	if (a_blocks != b_blocks)
		return psprintf("%u and %u blocks", a_blocks, b_blocks);
	for (BlockNumber block = 0; block < a_blocks; block++)
	{
		read_content(a, block, &a_content);
		read_content(b, block, &b_content);
		for (int i = 0; i < BLCKSZ; i++)
		{
			if (a_content.data[i] != b_content.data[i])
				return psprintf("block %u, byte %d: %02x and %02x", block, i, (uint8) a_content.data[i],
								(uint8) b_content.data[i]);
		}
	}
	return NULL;
}

/* Where the first difference of two indexes' pages is; NULL if there is none. */
Datum
first_difference(PG_FUNCTION_ARGS)
{
	Relation a = index_open(PG_GETARG_OID(0), AccessShareLock);
	Relation b = index_open(PG_GETARG_OID(1), AccessShareLock);
	char *difference = find_difference(a, b);

	index_close(a, AccessShareLock);
	index_close(b, AccessShareLock);
	if (difference == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(difference));
}
