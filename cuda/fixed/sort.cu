/*
 * sort.cu
 *		Sorting fixed keys: what is allowed, and who does it.
 *
 * Keys of 4 and 8 bytes are integers and sorted as such (pair_sort.h), and by sample sort those of 16 bytes
 * too; other wide ones are sorted in pieces (wide_sort.cu).
 */
#include "fixed/wide_sort.h"
#include "pairs/pair_sort.h"
#include "primitives/key_order.cuh"
#include "primitives/row_numbers.h"

#define POINTER_ALIGNMENT 16
#define MIN_SAMPLES 16
#define MAX_SAMPLES 1024

/* Checks what the size of the workspace depends on. */
static DevSortStatus
check_shape(const DevSortFixedJob *job)
{
	if (job == NULL)
		return status_make(DEVSORT_INVALID, "no job is given");
	RETURN_IF_FAILED(check_algorithm(job->algorithm));
	if (job->key_bytes != 4 && (job->key_bytes < 8 || job->key_bytes > 32 || job->key_bytes % 8 != 0))
		return status_make(DEVSORT_INVALID,
						   "keys of %d bytes cannot be sorted; allowed are 4, 8, 16, 24 and 32",
						   job->key_bytes);
	if (job->n > DEVSORT_MAX_ROWS)
		return status_make(DEVSORT_INVALID, "%llu rows are too many; at most %llu can be sorted",
						   (unsigned long long) job->n, (unsigned long long) DEVSORT_MAX_ROWS);
	if (job->samples != 0 && (job->samples < MIN_SAMPLES || job->samples > MAX_SAMPLES ||
							  (job->samples & (job->samples - 1)) != 0))
		return status_make(
			DEVSORT_INVALID,
			"bucket sort cannot take %d samples; allowed are powers of two from %d to %d, and 0",
			job->samples, MIN_SAMPLES, MAX_SAMPLES);
	return status_ok();
}

static DevSortStatus
check_pointer(const char *name, const void *pointer, bool may_be_null)
{
	if (pointer == NULL && !may_be_null)
		return status_make(DEVSORT_INVALID, "%s is NULL", name);
	if ((uintptr_t) pointer % POINTER_ALIGNMENT != 0)
		return status_make(DEVSORT_INVALID, "%s is at %p; an address aligned to %d bytes is needed", name,
						   pointer, POINTER_ALIGNMENT);
	return status_ok();
}

static DevSortStatus
check_format(DevSortKeyFormat format)
{
	if (format != DEVSORT_KEY_BYTES && format != DEVSORT_KEY_WORDS)
		return status_make(DEVSORT_INVALID, "key format %d does not exist; allowed are %d and %d",
						   (int) format, (int) DEVSORT_KEY_BYTES, (int) DEVSORT_KEY_WORDS);
	return status_ok();
}

static DevSortStatus
check_pointers(const DevSortFixedJob *job)
{
	RETURN_IF_FAILED(check_pointer("keys", job->keys, false));
	RETURN_IF_FAILED(check_pointer("sorted_keys", job->sorted_keys, false));
	RETURN_IF_FAILED(check_pointer("indexes", job->indexes, true));
	RETURN_IF_FAILED(check_pointer("sorted_indexes", job->sorted_indexes, true));
	if (job->keys == job->sorted_keys)
		return status_make(DEVSORT_INVALID,
						   "keys and sorted_keys are the same memory; the result needs memory of its own");
	if (job->indexes && job->indexes == job->sorted_indexes)
		return status_make(
			DEVSORT_INVALID,
			"indexes and sorted_indexes are the same memory; the result needs memory of its own");
	return status_ok();
}

/*
 * The payloads to sort with: the job's, or row numbers in memory taken for them; NULL if keys alone are
 * sorted.
 */
static uint32_t *
take_values(Workspace *workspace, const DevSortFixedJob *job)
{
	if (job->sorted_indexes == NULL || job->indexes)
		return job->sorted_indexes ? job->indexes : NULL;
	return workspace_take<uint32_t>(workspace, job->n);
}

/* Is the job sorted in pieces? */
static bool
sorts_pieces(const DevSortFixedJob *job)
{
	return job->key_bytes > 16 ||
		   (job->key_bytes == 16 && (job->algorithm == DEVSORT_BUCKET || job->algorithm == DEVSORT_RADIX));
}

/* Lays the workspace out, to learn its size. */
static void
measure(Workspace *workspace, const DevSortFixedJob *job)
{
	if (sorts_pieces(job))
	{
		wide_sort_measure(workspace, job);
		return;
	}
	(void) take_values(workspace, job);
	if (job->key_bytes == 4)
		pair_sort_measure<uint32_t>(workspace, job->algorithm, job->n, job->sorted_indexes != NULL,
									job->samples);
	else if (job->key_bytes == 8)
		pair_sort_measure<uint64_t>(workspace, job->algorithm, job->n, job->sorted_indexes != NULL,
									job->samples);
	else
		pair_sort_measure<WideKey>(workspace, job->algorithm, job->n, job->sorted_indexes != NULL,
								   job->samples);
}

/* Sorts keys that are integers of type Key, or of 16 bytes. */
template <typename Key>
static DevSortStatus
sort_integers(const DevSortFixedJob *job, Workspace *workspace, cudaStream_t stream)
{
	PairSortJob<Key> pairs = {};

	pairs.algorithm = job->algorithm;
	pairs.n = job->n;
	pairs.keys = (Key *) job->keys;
	pairs.values = take_values(workspace, job);
	pairs.sorted_keys = (Key *) job->sorted_keys;
	pairs.sorted_values = job->sorted_indexes;
	pairs.big_endian = job->format == DEVSORT_KEY_BYTES;
	pairs.seed = job->seed;
	pairs.samples = job->samples;
	pairs.stages = job->stages;
	if (pairs.values && pairs.values != job->indexes)
		RETURN_IF_FAILED(row_numbers_fill(pairs.values, job->n, stream));
	RETURN_IF_FAILED(pair_sort(&pairs, workspace, stream));
	stage_begin(job->stages, NULL, stream);
	return status_ok();
}

DevSortStatus
devsort_fixed_memory(const DevSortFixedJob *job, size_t *workspace_size)
{
	Workspace measured = workspace_measure();

	RETURN_IF_FAILED(check_shape(job));
	if (workspace_size == NULL)
		return status_make(DEVSORT_INVALID, "workspace_bytes is NULL");
	measure(&measured, job);
	*workspace_size = workspace_bytes(&measured);
	return status_ok();
}

DevSortStatus
devsort_fixed(const DevSortFixedJob *job, void *workspace_memory, size_t workspace_size, DevSortStream stream)
{
	Workspace measured = workspace_measure();
	Workspace workspace;

	RETURN_IF_FAILED(check_shape(job));
	RETURN_IF_FAILED(check_format(job->format));
	if (job->n == 0)
		return status_ok();
	RETURN_IF_FAILED(check_pointers(job));
	measure(&measured, job);
	RETURN_IF_FAILED(workspace_check(workspace_memory, workspace_size, &measured, &workspace));

	if (job->key_bytes == 4)
		return sort_integers<uint32_t>(job, &workspace, stream);
	if (job->key_bytes == 8)
		return sort_integers<uint64_t>(job, &workspace, stream);
	if (!sorts_pieces(job))
		return sort_integers<WideKey>(job, &workspace, stream);
	return wide_sort(job, &workspace, stream);
}
