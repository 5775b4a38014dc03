/*
 * joint_sort.c
 *		The processes that fed a sort of the cpu device sort it together.
 *
 * The process that entered first, which need not be the leader, prepares: it looks through the chunks and lays out what is to be shared.
 * Then all provide the memory of the items, each a part of it, and sort (parallel_sort.h).  If there is too little memory for that,
 * nothing happens here, and the leader sorts alone when it performs.
 *
 * Whoever is interrupted leaves the others waiting; they are interrupted too, for an error in one process of a parallel query ends all.
 */
#include "postgres.h"

#include "joint_sort.h"

/* Bytes of the items that one process is to provide: its part of them. */
static void
part_of_items(const SharedChunks *shared, int process, char **from, Size *size)
{
	const SortedRows *sorted = &shared->sorted;
	uint64		first = sorted->nrows * process / shared->base.nentered;
	uint64		end = sorted->nrows * (process + 1) / shared->base.nentered;

	*from = sorted->items + first * sorted->item_size;
	*size = (end - first) * sorted->item_size;
}

/* Is there room within the limit for all processes to sort these chunks? */
static bool
fits_within_limit(const SharedChunks *shared, const SortKey *key)
{
	return shared->chunk_memory +
		sorted_rows_parallel_memory(key, shared->filled_rows, shared->nchunks, shared->base.nentered) <= shared->limit;
}

/* Lays the sort out in shared memory; NULL where there is nothing to sort, or not enough memory. */
static ParallelSort *
prepare(SharedChunks *shared, const SortKey *key)
{
	int			nprocesses = shared->base.nentered;
	void	   *memory;

	if (nprocesses < 2 || !fits_within_limit(shared, key) ||
		!sorted_rows_prepare(&shared->sorted, key, shared->filled, shared->filled_rows))
		return NULL;
	memory = sort_share_alloc(&shared->base, sorted_rows_shared_size(&shared->sorted, shared->nchunks, nprocesses));
	return memory == NULL ? NULL : sorted_rows_share(&shared->sorted, memory, shared->filled, nprocesses);
}

static void
meet_others(void *arg)
{
	sort_share_meet((SortShare *) arg);
}

void
joint_sort(SharedChunks *shared, int process, const SortKey *key)
{
	ParallelSortSync sync = {meet_others, &shared->base};
	char	   *part;
	Size		part_size;

	if (process == 0)
		shared->sort = prepare(shared, key);
	sort_share_meet(&shared->base);
	if (shared->sort == NULL)
		return;
	part_of_items(shared, process, &part, &part_size);
	if (!sort_share_populate(part, part_size))
		shared->no_memory = true;
	sort_share_meet(&shared->base);
	if (shared->no_memory)
		return;
	parallel_sort_run(shared->sort, process, &sync);
	if (process == 0)
		shared->is_sorted = true;
	sort_share_meet(&shared->base);
}

bool
joint_sort_result(const SharedChunks *shared, SortedRows *sorted)
{
	if (!shared->is_sorted || shared->sorted.nrows != shared->filled_rows)
		return false;
	*sorted = shared->sorted;
	/* what was a constant of the program in another process may be elsewhere in this one */
	sorted->method = sorted_rows_method(sorted);
	return true;
}
