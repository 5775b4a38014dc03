/*
 * device/cpu/joint_sort.c
 *		The processes that fed a sort of the cpu device sort it together.
 *
 * The process that entered first, which need not be the leader, prepares and lays out what is shared.
 *
 * Whoever is interrupted leaves the others waiting; they are interrupted too, for an error in one process of
 * a parallel query ends all.
 */
#include "postgres.h"

#include "device/cpu/sorter.h"
#include "monitor/progress.h"
#include "sort/verify.h"

Size
joint_sort_memory(const SharedChunks *shared, const SortKey *key)
{
	return shared->pool.memory +
		   sorted_rows_parallel_memory(key, shared->pool.nrows, shared->pool.nchunks, shared->base.nentered);
}

/* Does the leader take part? */
static bool
leader_entered(const SortShare *share)
{
	for (int i = 0; i < share->nentered; i++)
	{
		if (share->processes[i].worker_number < 0)
			return true;
	}
	return false;
}

/* Bytes of a row, with its key, on average. */
static Size
row_size(const SharedChunks *shared)
{
	return shared->pool.memory / shared->pool.nrows;
}

/*
 * Bytes for windows of the result (return_windows.h), within what is left of the limit; 0: none.  Fixed keys
 * that rows are made of are not all over the memory.
 */
static Size
size_of_windows(const SharedChunks *shared, const SortKey *key)
{
	Size memory = joint_sort_memory(shared, key);

	if (!shared->helped || (key->policy.alone && !key->variable) || !leader_entered(&shared->base) ||
		memory >= shared->limit)
		return 0;
	return return_windows_size(shared->pool.nrows, row_size(shared), shared->base.nentered - 1,
							   shared->limit - memory);
}

/* Looks whether there is something to sort, and takes memory for it, if there is enough. */
static void
prepare(SharedChunks *shared, const SortKey *key)
{
	int nprocesses = shared->base.nentered;
	Size size;

	chunk_pool_close(&shared->pool);
	if (nprocesses < 2 || joint_sort_memory(shared, key) > shared->limit ||
		!sorted_rows_prepare(&shared->sorted, key, shared->pool.filled, shared->pool.nrows))
		return;
	size = TYPEALIGN(64, sorted_rows_shared_size(&shared->sorted, shared->pool.nchunks, nprocesses));
	shared->windows_size = TYPEALIGN(64, size_of_windows(shared, key));
	shared->sort_memory_size = size + shared->windows_size;
	shared->sort_memory = arena_reserve(&shared->base.arena, shared->sort_memory_size);
	arena_trim(&shared->base.arena, shared->limit);
}

/* Lays out the memory that all have provided. */
static void
lay_out(SharedChunks *shared, const SortKey *key)
{
	char *memory = shared->sort_memory + shared->windows_size;
	int nprocesses = shared->base.nentered;

	shared->sort = sorted_rows_share(&shared->sorted, memory, shared->pool.filled, nprocesses,
									 shared->few_read && !key->verified);
	if (shared->windows_size > 0)
		shared->windows = return_windows_init(shared->sort_memory, shared->windows_size, shared->pool.nrows,
											  row_size(shared), nprocesses - 1);
}

/* Has the kernel provide this process's part of the sort's memory. */
static void
populate_part(SharedChunks *shared, int process)
{
	Size first = shared->sort_memory_size * process / shared->base.nentered;
	Size end = shared->sort_memory_size * (process + 1) / shared->base.nentered;

	if (!arena_populate(shared->sort_memory + first, end - first))
		shared->no_memory = true;
}

/*
 * Each process verifies a part of the items, whose order the keys only guess at; then parts beside each other
 * are joined two by two.  Parts that were in order take one comparison to join.
 */
static void
verify_jointly(SharedChunks *shared, int process, const SortKey *key)
{
	SortKeyComparer *comparer = sort_key_comparer_create(key);
	StringSortItem *items = (StringSortItem *) shared->sorted.items;
	uint64 corrected;
	int nprocesses = shared->base.nentered;
	uint64 nrows = shared->sorted.nrows;
	uint64 first = nrows * process / nprocesses;
	uint64 end = nrows * (process + 1) / nprocesses;

	corrected = verify_items(comparer, items + first, end - first);
	for (int step = 1; step < nprocesses; step *= 2)
	{
		sort_share_meet(&shared->base);
		if (process % (2 * step) != 0 || process + step >= nprocesses)
			continue;
		end = nrows * Min(process + 2 * step, nprocesses) / nprocesses;
		corrected +=
			verify_join(comparer, items + first, nrows * (process + step) / nprocesses - first, end - first);
	}
	SpinLockAcquire(&shared->base.mutex);
	shared->sorted.corrected += corrected;
	SpinLockRelease(&shared->base.mutex);
	sort_key_comparer_free(comparer);
}

/* A copy in the memory that all share; NULL: there is no memory, or nothing to copy. */
static void *
copy_for_all(SharedChunks *shared, const void *bytes, Size size)
{
	void *copy = bytes != NULL ? arena_alloc(&shared->base.arena, TYPEALIGN(8, size + 1)) : NULL;

	if (copy != NULL)
		memcpy(copy, bytes, size);
	return copy;
}

/* Process 0: ranks the values, for all processes. */
static void
rank_values(SharedChunks *shared, const SortKey *key)
{
	ValueRanks *ranks = value_ranks_create(key);
	bool has_memory = true;

	chunk_pool_close(&shared->pool);
	for (int i = 0; i < ranks->tables.n && has_memory; i++)
	{
		shared->ranks.ranks[i] =
			copy_for_all(shared, ranks->tables.ranks[i], sizeof(uint32) * ranks->ncodes[i]);
		shared->ranks.values[i] =
			copy_for_all(shared, ranks->tables.values[i], sizeof(ValueEntry *) * ranks->tables.nvalues[i]);
		has_memory = shared->ranks.ranks[i] != NULL &&
					 (shared->ranks.values[i] != NULL || ranks->tables.values[i] == NULL);
	}
	shared->ranks.n = has_memory ? ranks->tables.n : 0;
	value_ranks_free(ranks);
}

/* Replaces the codes of all chunks by ranks; false: there is no memory for that. */
static bool
give_ranks(SharedChunks *shared, int process, const SortKey *key)
{
	uint32 number = 0;
	uint32 mine;

	if (process == 0)
		rank_values(shared, key);
	sort_share_meet(&shared->base);
	if (shared->ranks.n == 0)
		return false;
	mine = pg_atomic_fetch_add_u32(&shared->next_chunk, 1);
	for (Chunk *chunk = shared->pool.filled; chunk != NULL; chunk = chunk->next, number++)
	{
		if (number != mine)
			continue;
		value_ranks_give(&shared->ranks, key, chunk);
		mine = pg_atomic_fetch_add_u32(&shared->next_chunk, 1);
		CHECK_FOR_INTERRUPTS();
	}
	sort_share_meet(&shared->base);
	return true;
}

static void
meet_others(void *arg)
{
	sort_share_meet((SortShare *) arg);
}

void
joint_sort(SharedChunks *shared, int process, const SortKey *key, const Sorter *sorter)
{
	ParallelSortSync sync = {meet_others, &shared->base};

	if (key->coding != NULL && !give_ranks(shared, process, key))
		return;
	if (process == 0)
		prepare(shared, key);
	sort_share_meet(&shared->base);
	if (shared->sort_memory == NULL)
		return;
	populate_part(shared, process);
	sort_share_meet(&shared->base);
	if (shared->no_memory)
		return;
	if (process == 0)
		lay_out(shared, key);
	sort_share_meet(&shared->base);
	parallel_sort_run(shared->sort, process, &sync);
	if (key->verified)
	{
		sort_share_meet(&shared->base);
		progress_enter(sorter, PROGRESS_VERIFYING);
		verify_jointly(shared, process, key);
	}
	if (process == 0)
		shared->is_sorted = true;
	sort_share_meet(&shared->base);
}

void
joint_sort_rows(const SharedChunks *shared, const SortKey *key, SortedRows *sorted)
{
	*sorted = shared->sorted;
	/* what was a constant of the program in another process may be elsewhere in this one */
	sorted->method = sorted_rows_method(sorted);
	sorted->rows = key->policy.alone ? key->policy.rows : NULL;
	value_ranks_make_rows(&shared->ranks, key);
}
