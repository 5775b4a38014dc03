/*
 * arguments.cu
 *		Arguments outside of what devsort.h allows, and how much memory the sorts ask for.  Needs no device.
 *
 * The addresses here are never valid: a call that does not refuse its arguments fails with another code.
 */
#include <cstdio>

#include "check/harness/check.h"

/* Random numbers of rows that are compared with larger ones. */
#define MEMORY_PAIRS 20000

static const int widths[] = {4, 8, 16, 24, 32};

static DevSortFixedJob
valid_fixed_job(void)
{
	DevSortFixedJob job = {};

	job.algorithm = DEVSORT_SAMPLE;
	job.format = DEVSORT_KEY_WORDS;
	job.key_bytes = 8;
	job.n = 100000;
	job.keys = (void *) 0x10000000;
	job.sorted_keys = (void *) 0x20000000;
	job.indexes = (uint32_t *) 0x30000000;
	job.sorted_indexes = (uint32_t *) 0x40000000;
	return job;
}

typedef struct BadFixed
{
	const char *what;
	bool seen_by_memory; /* does devsort_fixed_memory look at it? */
	void (*spoil)(DevSortFixedJob *job);
} BadFixed;

static const BadFixed bad_fixed[] =
	{
		{"key of 0 bytes", true, [](DevSortFixedJob *job) { job->key_bytes = 0; }},
		{"key of 5 bytes", true, [](DevSortFixedJob *job) { job->key_bytes = 5; }},
		{"key of 12 bytes", true, [](DevSortFixedJob *job) { job->key_bytes = 12; }},
		{"key of 40 bytes", true, [](DevSortFixedJob *job) { job->key_bytes = 40; }},
		{"key of -8 bytes", true, [](DevSortFixedJob *job) { job->key_bytes = -8; }},
		{"too many rows", true, [](DevSortFixedJob *job) { job->n = DEVSORT_MAX_ROWS + 1; }},
		{"2^63 rows", true, [](DevSortFixedJob *job) { job->n = UINT64_C(1) << 63; }},
		{"no such algorithm", true, [](DevSortFixedJob *job) { job->algorithm = (DevSortAlgorithm) 17; }},
		{"no such format", false, [](DevSortFixedJob *job) { job->format = (DevSortKeyFormat) 7; }},
		{"no keys", false, [](DevSortFixedJob *job) { job->keys = NULL; }},
		{"no sorted keys", false, [](DevSortFixedJob *job) { job->sorted_keys = NULL; }},
		{"17 samples", true,
		 [](DevSortFixedJob *job) {
	job->algorithm = DEVSORT_BUCKET;
	job->samples = 17;
		 }},
		{"8 samples", true,
		 [](DevSortFixedJob *job) {
	job->algorithm = DEVSORT_BUCKET;
	job->samples = 8;
		 }},
					  {"2048 samples", true,
					   [](DevSortFixedJob *job) {
	job->algorithm = DEVSORT_BUCKET;
	job->samples = 2048;
					   }},
	{"-64 samples", true,
	 [](DevSortFixedJob *job) {
	job->algorithm = DEVSORT_BUCKET;
	job->samples = -64;
	 }},
	};

static void
expect_invalid(Check *check, DevSortStatus status, const char *function, const char *what)
{
	Why why = {};
	bool passed = why_failure(&why, status, DEVSORT_INVALID, function);

	check_case(check, passed, &why, "%s", what);
}

static void
check_fixed_arguments(Check *check)
{
	void *workspace = (void *) 0x50000000;
	size_t huge = (size_t) 1 << 60;
	size_t bytes;

	for (const BadFixed &bad : bad_fixed)
	{
		DevSortFixedJob job = valid_fixed_job();

		bad.spoil(&job);
		if (bad.seen_by_memory)
			expect_invalid(check, devsort_fixed_memory(&job, &bytes), "devsort_fixed_memory", bad.what);
		expect_invalid(check, devsort_fixed(&job, workspace, huge, NULL), "devsort_fixed", bad.what);
	}
	for (int algorithm = 0; algorithm < 4; algorithm++)
	{
		for (int width : widths)
		{
			DevSortFixedJob job = valid_fixed_job();
			Why why = {};

			job.algorithm = (DevSortAlgorithm) algorithm;
			job.key_bytes = width;
			bytes = 0;
			check_case(check, why_status(&why, devsort_fixed_memory(&job, &bytes), "devsort_fixed_memory"),
					   &why, "%s, %d bytes", algorithm_name(algorithm), width);
			if (bytes > 0)
				expect_invalid(check, devsort_fixed(&job, workspace, bytes - 1, NULL), "devsort_fixed",
							   "workspace too small");
			expect_invalid(check, devsort_fixed(&job, NULL, huge, NULL), "devsort_fixed", "no workspace");
		}
	}
}

static DevSortStringsJob
valid_strings_job(void)
{
	DevSortStringsJob job = {};

	job.algorithm = DEVSORT_SAMPLE;
	job.n = 100000;
	job.bytes = (const uint8_t *) 0x10000000;
	job.offsets = (const uint64_t *) 0x20000000;
	job.sorted_indexes = (uint32_t *) 0x30000000;
	return job;
}

typedef struct BadStrings
{
	const char *what;
	bool seen_by_memory;
	void (*spoil)(DevSortStringsJob *job);
} BadStrings;

static const BadStrings bad_strings[] = {
	{"too many strings", true, [](DevSortStringsJob *job) { job->n = DEVSORT_MAX_ROWS + 1; }},
	{"no such algorithm", true, [](DevSortStringsJob *job) { job->algorithm = (DevSortAlgorithm) -1; }},
	{"no offsets", false, [](DevSortStringsJob *job) { job->offsets = NULL; }},
	{"no sorted indexes", false, [](DevSortStringsJob *job) { job->sorted_indexes = NULL; }},
};

static void
check_strings_arguments(Check *check)
{
	DevSortStringsJob valid = valid_strings_job();
	void *workspace = (void *) 0x50000000;
	size_t huge = (size_t) 1 << 60;
	size_t bytes = 0;
	Why why = {};

	for (const BadStrings &bad : bad_strings)
	{
		DevSortStringsJob job = valid_strings_job();

		bad.spoil(&job);
		if (bad.seen_by_memory)
			expect_invalid(check, devsort_strings_memory(&job, &bytes), "devsort_strings_memory", bad.what);
		expect_invalid(check, devsort_strings(&job, workspace, huge, NULL), "devsort_strings", bad.what);
	}
	bytes = 0;
	check_case(check, why_status(&why, devsort_strings_memory(&valid, &bytes), "devsort_strings_memory"),
			   &why, "valid job");
	if (bytes > 0)
		expect_invalid(check, devsort_strings(&valid, workspace, bytes - 1, NULL), "devsort_strings",
					   "workspace too small");
	expect_invalid(check, devsort_strings(&valid, NULL, huge, NULL), "devsort_strings", "no workspace");
}

static DevSortRowsJob
valid_rows_job(void)
{
	DevSortRowsJob job = {};

	job.n = 100000;
	job.rows = (const uint8_t *) 0x10000000;
	job.offsets = (const uint64_t *) 0x20000000;
	job.order = (const uint32_t *) 0x30000000;
	job.sorted_offsets = (uint64_t *) 0x40000000;
	return job;
}

static void
check_rows_arguments(Check *check)
{
	void *workspace = (void *) 0x50000000;
	DevSortRowsJob job = valid_rows_job();
	size_t huge = (size_t) 1 << 60;
	size_t bytes = 0;
	Why why = {};

	check_case(check, why_status(&why, devsort_rows_memory(&job, &bytes), "devsort_rows_memory"), &why,
			   "valid job");
	if (bytes > 0)
		expect_invalid(check, devsort_rows_plan(&job, workspace, bytes - 1, NULL), "devsort_rows_plan",
					   "workspace too small");
	expect_invalid(check, devsort_rows_plan(&job, NULL, huge, NULL), "devsort_rows_plan", "no workspace");
	expect_invalid(check, devsort_rows_gather(&job, 0, 1, NULL, NULL), "devsort_rows_gather", "no window");
	expect_invalid(check, devsort_rows_gather(&job, job.n - 1, 2, (uint8_t *) workspace, NULL),
				   "devsort_rows_gather", "rows past n");
	expect_invalid(check, devsort_rows_gather(&job, 1, UINT64_MAX, (uint8_t *) workspace, NULL),
				   "devsort_rows_gather", "count that wraps around");
	job.order = NULL;
	expect_invalid(check, devsort_rows_plan(&job, workspace, huge, NULL), "devsort_rows_plan", "no order");
	job = valid_rows_job();
	job.offsets = NULL;
	expect_invalid(check, devsort_rows_plan(&job, workspace, huge, NULL), "devsort_rows_plan", "no offsets");
	job = valid_rows_job();
	job.n = DEVSORT_MAX_ROWS + 1;
	expect_invalid(check, devsort_rows_memory(&job, &bytes), "devsort_rows_memory", "too many rows");
}

/* A third more rows, in turn one fewer than fill whole lines of memory, and as many. */
static uint64_t
following(uint64_t n)
{
	uint64_t more = n + n / 3 + 32;

	return n % 32 == 31 ? n + 1 : more - more % 32 + 31;
}

/* The workspace must not shrink as rows come, and its size must be known for every n that is allowed. */
static void
check_memory_sizes(Check *check, int algorithm, int width, bool with_indexes)
{
	DevSortFixedJob job = valid_fixed_job();
	size_t before = 0;
	size_t bytes = 0;
	Why why = {};

	job.algorithm = (DevSortAlgorithm) algorithm;
	job.key_bytes = width;
	if (!with_indexes)
		job.indexes = job.sorted_indexes = NULL;
	for (uint64_t n = 0; n <= DEVSORT_MAX_ROWS; n = following(n))
	{
		bool passed;

		job.n = n;
		passed = why_status(&why, devsort_fixed_memory(&job, &bytes), "devsort_fixed_memory");
		if (passed && bytes < before)
			passed = why_say(&why, "%zu bytes, but %zu for fewer rows", bytes, before);
		if (passed && bytes > (size_t) 1 << 40)
			passed = why_say(&why, "%zu bytes can't be meant", bytes);
		check_case(check, passed, &why, "%s, %d bytes, n %llu, indexes %d", algorithm_name(algorithm), width,
				   (unsigned long long) n, with_indexes);
		before = bytes;
	}
	job.n = UINT64_C(1) << 27;
	if (devsort_fixed_memory(&job, &bytes).code == DEVSORT_OK)
		printf("# workspace, %s, %d bytes, %s, 2^27 rows: %.2f bytes a key\n", algorithm_name(algorithm),
			   width, with_indexes ? "indexes" : "keys alone", (double) bytes / (double) job.n);
}

/* The workspace for n rows. */
typedef DevSortStatus (*MemoryOfRows)(DevSortAlgorithm algorithm, int width, uint64_t n, size_t *bytes);

static DevSortStatus
memory_of_fixed(DevSortAlgorithm algorithm, int width, uint64_t n, size_t *bytes)
{
	DevSortFixedJob job = valid_fixed_job();

	job.algorithm = algorithm;
	job.key_bytes = width;
	job.indexes = NULL;
	job.n = n;
	return devsort_fixed_memory(&job, bytes);
}

static DevSortStatus
memory_of_strings(DevSortAlgorithm algorithm, int, uint64_t n, size_t *bytes)
{
	DevSortStringsJob job = valid_strings_job();

	job.algorithm = algorithm;
	job.n = n;
	return devsort_strings_memory(&job, bytes);
}

static DevSortStatus
memory_of_rows(DevSortAlgorithm, int, uint64_t n, size_t *bytes)
{
	DevSortRowsJob job = valid_rows_job();

	job.n = n;
	return devsort_rows_memory(&job, bytes);
}

/* Of any two numbers of rows, near each other or not, the larger one must not need less memory. */
static void
check_memory_grows(Check *check, MemoryOfRows memory, const char *what, int algorithm, int width)
{
	uint64_t broken_n = 0;
	uint64_t broken_more = 0;
	Why why = {};

	for (int i = 0; i < MEMORY_PAIRS; i++)
	{
		uint64_t n = check_random_below(check, UINT64_C(2) << check_random_below(check, 31));
		uint64_t more = n + 1 + check_random_below(check, i % 3 == 0 ? n + 1 : 70);
		size_t fewer_bytes = 0;
		size_t more_bytes = 0;

		if (memory((DevSortAlgorithm) algorithm, width, n, &fewer_bytes).code == DEVSORT_OK &&
			memory((DevSortAlgorithm) algorithm, width, more, &more_bytes).code == DEVSORT_OK &&
			more_bytes < fewer_bytes)
		{
			broken_n = n;
			broken_more = more;
			why_say(&why, "%zu bytes, then %zu", fewer_bytes, more_bytes);
		}
	}
	check_case(check, broken_more == 0, &why, "%s, %s, %d bytes: %llu rows, then %llu", what,
			   algorithm_name(algorithm), width, (unsigned long long) broken_n,
			   (unsigned long long) broken_more);
}

static void
check_all_memory_grows(Check *check)
{
	if (!check_group_begin(check, "arguments: memory grows with rows"))
		return;
	for (int algorithm = 0; algorithm < 4; algorithm++)
	{
		for (int width : widths)
			check_memory_grows(check, memory_of_fixed, "fixed keys", algorithm, width);
		check_memory_grows(check, memory_of_strings, "strings", algorithm, 0);
	}
	check_memory_grows(check, memory_of_rows, "rows", DEVSORT_AUTO, 0);
	check_group_end(check);
}

void
check_arguments(Check *check)
{
	const struct
	{
		const char *name;
		void (*run)(Check *check);
	} groups[] = {{"fixed keys", check_fixed_arguments},
				  {"strings", check_strings_arguments},
				  {"rows", check_rows_arguments}};

	for (const auto &group : groups)
	{
		if (!check_group_begin(check, "arguments: %s", group.name))
			continue;
		group.run(check);
		check_group_end(check);
	}
	check_all_memory_grows(check);
	if (!check_group_begin(check, "arguments: memory of fixed keys"))
		return;
	for (int algorithm = 0; algorithm < 4; algorithm++)
	{
		for (int width : widths)
		{
			check_memory_sizes(check, algorithm, width, true);
			check_memory_sizes(check, algorithm, width, false);
		}
	}
	check_group_end(check);
}
