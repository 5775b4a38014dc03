/*
 * device/cuda/coding.c
 *		The cuda device's keys with codes in the place of values (key/coded.h): ranks travel, not strings.
 *
 * Chunks have codes.  When all rows of a job are on the device, the values that are known by then are ranked
 * here, and the ranks are sent: a table for each coded column, in pieces of the size of a chunk.  gpusortd
 * replaces the codes of all its keys before it sorts them.  Another job of the same sort, if the device is
 * full, has ranks of its own.  Runs have rows without keys, so they are merged by keys without codes.
 *
 * Rows on the device cannot be fed again.  So the card fails when coding ends, and the input is read again
 * without codes.
 */
#include "postgres.h"

#include "base/stopwatch.h"
#include "device/cuda/on_card.h"
#include "key/coded.h"
#include "sort/value_ranks.h"

int
cuda_key_bytes(const SortRequest *request)
{
	const SortKey *key = request->key;
	uint32 coded;

	return request->rows.coded != 0 ? sort_key_coded_width(key->ncols, key->cols, request->rows.coded, &coded)
									: key->width;
}

void
cuda_begin_coding(CudaCard *card, const SortRequest *request)
{
	if (request->rows.coded == 0 || card->base.failure != NULL)
		return;
	card->coded = card->base.coded = sort_share_create_coded(card->base.share, request);
	if (card->coded == NULL)
		(void) cuda_fail(card, SORT_FAILURE_MEMORY, "there is no memory for the values of the sort");
}

void
cuda_join_coding(CudaCard *card)
{
	SortKeyTables *tables = card->base.share->tables;
	MemoryContext old = MemoryContextSwitchTo(card->context);

	if (tables != NULL)
		card->coded = card->base.coded = sort_key_create_coded((SortKey *) card->key, tables);
	MemoryContextSwitchTo(old);
}

/* ---------------------------------------------------------------- ranks */

/*
 * Sends the next ranks of a column, as many as a chunk holds; *first: their first code, and then the next
 * one.
 */
static bool
send_piece(CudaCard *card, const ValueRanks *ranks, int column, uint32 *first)
{
	const uint32 *table = ranks->tables.ranks[column] + *first;
	uint32 codes = Min(ranks->ncodes[column] - *first, card->client.job.chunk_bytes / sizeof(uint32));
	int chunk = gpusortd_take_chunk(&card->client);

	if (chunk < 0)
		return cuda_client_failed(card);
	memcpy(gpusortd_chunk(&card->client, chunk), table, codes * sizeof(uint32));
	if (!gpusortd_submit_ranks(&card->client, chunk, card->coded->coding->coded[column].offset, *first,
							   codes))
		return cuda_client_failed(card);
	*first += codes;
	return true;
}

/* If a column has no values, all rows have the code of a NULL, which is 0 and may stay. */
static bool
send_table(CudaCard *card, const ValueRanks *ranks, int column)
{
	uint32 first = 0;

	while (first < ranks->ncodes[column])
	{
		if (!send_piece(card, ranks, column, &first))
			return false;
	}
	return true;
}

bool
cuda_send_ranks(CudaCard *card)
{
	Stopwatch watch = stopwatch_start();
	bool sent = true;
	ValueRanks *ranks;

	if (card->coded == NULL)
		return true;
	if (!gpusortd_flush(&card->client))
		return cuda_client_failed(card);
	ranks = value_ranks_create(card->coded);
	sorter_stats_note_memory(&card->stats, card->client.memory_bytes + ranks->memory);
	for (int i = 0; i < ranks->tables.n && sent; i++)
		sent = send_table(card, ranks, i);
	value_ranks_free(ranks);
	card->stats.sort_ms += stopwatch_ms(watch);
	return sent;
}

/* ---------------------------------------------------------------- the end of codes */

void
cuda_end_coding(Sorter *base, void (*feed_again)(Chunk *chunk, void *arg), void *arg)
{
	CudaCard *card = (CudaCard *) base;

	pg_atomic_write_u32(&card->coded->coding->tables->ended, 1);
	base->coded = NULL;
	(void) cuda_fail(card, SORT_FAILURE_CODES, "there are too many different values for codes");
}

void
cuda_get_coding(const CudaCard *card, SorterStats *stats)
{
	if (card->coded == NULL)
		return;
	stats->values = sort_key_tables_values(card->coded->coding->tables);
	stats->value_bytes = sort_key_tables_bytes(card->coded->coding->tables);
	stats->values_full = sort_key_tables_full(card->coded->coding->tables);
	stats->peak_memory += stats->value_bytes;
}
