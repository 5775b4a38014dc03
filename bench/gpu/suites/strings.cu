/*
 * strings.cu
 *		The tables of Deshpande, Narayanan, Can GPUs Sort Strings Efficiently?, section 4, and its figure 4.
 *
 * Every data set is sorted in four ways (by the library; by the paper's algorithm with both of its
 * optimisations; with ids of fixed size; with these and no removal of singletons) and by Thrust with a
 * comparator, in turn.  Tables I to VI are columns of one file, from two cards' of which table VII is made.
 * Figure 4 are the same rows for words and pc-filelist with bytes left out or repeated.
 */
#include <algorithm>
#include <cstring>

#include "base/workspace.h"
#include "gpu/contenders/published_strings.h"
#include "gpu/data/datasets.h"
#include "gpu/harness/bench.h"
#include "gpu/verify/strings.h"
#include "gpu/verify/verify.h"

#define QUICK_SHARE 10

static const char columns[] =
	"figure,source,string_bytes,tie_average,tie_deviation,tie_longest,rounds,sort_ms,segments_ms,load_ms,"
	"paper_tie_average,paper_rounds,paper_ms,paper_mkeys_per_s,times_paper,speed_up_over_thrust,paper_speed_up";

/* Ways to sort; the last is Thrust's. */
enum StringSorter
{
	SEGMENTS,
	PUBLISHED,
	FIXED_IDS,
	FIXED_IDS_KEEPING,
	THRUST,
	NSTRING_SORTERS
};

static const char *const sorter_names[NSTRING_SORTERS] = {"segments", "segments-published",
														  "segments-fixed-ids", "segments-fixed-ids-keeping",
														  "thrust-merge"};

typedef struct StringCase
{
	const Dataset *dataset;
	const StringSet *set;
	const char *figure;
	DeviceStrings strings;
	uint32_t *indexes;
	void *scratch;
	void *workspace;
	size_t workspace_bytes;
	DevSortStringsJob jobs[THRUST];
	int rounds[THRUST];
	StageTimes *stages;
	TieLengths ties;
	bool stopped[NSTRING_SORTERS];
	Times times[NSTRING_SORTERS];
} StringCase;

static void
take_case(Workspace *pool, StringCase *string_case)
{
	uint64_t n = string_case->strings.n;
	uint8_t *bytes = workspace_take<uint8_t>(pool, string_case->set->bytes.size() + STRINGS_PADDING);
	uint64_t *offsets = workspace_take<uint64_t>(pool, n + 1);

	string_case->strings.bytes = bytes;
	string_case->strings.offsets = offsets;
	string_case->indexes = workspace_take<uint32_t>(pool, n);
	string_case->scratch = workspace_take<uint8_t>(pool, strings_check_scratch_bytes(n));
	string_case->workspace = workspace_take<uint8_t>(pool, string_case->workspace_bytes);
}

static DevSortStatus
make_jobs(Bench *bench, StringCase *string_case)
{
	string_case->workspace_bytes = thrust_strings_memory(string_case->strings.n);
	for (int which = 0; which < THRUST; which++)
	{
		DevSortStringsJob *job = &string_case->jobs[which];
		size_t bytes;

		*job = {};
		job->n = string_case->strings.n;
		job->bytes = string_case->strings.bytes;
		job->offsets = string_case->strings.offsets;
		job->sorted_indexes = string_case->indexes;
		job->seed = bench_seed(bench);
		job->rounds = &string_case->rounds[which];
		if (which == SEGMENTS)
			RETURN_IF_FAILED(devsort_strings_memory(job, &bytes));
		else
			bytes = published_strings_memory(job);
		string_case->workspace_bytes = std::max(string_case->workspace_bytes, bytes);
	}
	return status_ok();
}

/* Lays the case out and copies the strings to the device. */
static DevSortStatus
prepare_case(Bench *bench, StringCase *string_case)
{
	const StringSet *set = string_case->set;
	Workspace pool = workspace_measure();

	string_case->strings.n = set->offsets.size() - 1;
	RETURN_IF_FAILED(make_jobs(bench, string_case));
	take_case(&pool, string_case);
	RETURN_IF_FAILED(bench_reserve(bench, workspace_bytes(&pool)));
	pool = workspace_open(bench->pool);
	take_case(&pool, string_case);
	RETURN_IF_FAILED(make_jobs(bench, string_case));
	CHECK_CUDA(cudaMemcpyAsync((void *) string_case->strings.bytes, set->bytes.data(), set->bytes.size(),
							   cudaMemcpyHostToDevice, bench->stream),
			   "copying strings to the device");
	CHECK_CUDA(cudaMemsetAsync((uint8_t *) string_case->strings.bytes + set->bytes.size(), 0, STRINGS_PADDING,
							   bench->stream),
			   "padding strings");
	CHECK_CUDA(cudaMemcpyAsync((void *) string_case->strings.offsets, set->offsets.data(),
							   set->offsets.size() * sizeof(uint64_t), cudaMemcpyHostToDevice, bench->stream),
			   "copying offsets to the device");
	CHECK_CUDA(cudaStreamSynchronize(bench->stream), "copying strings to the device");
	return status_ok();
}

typedef struct StringWork
{
	StringCase *string_case;
	int which;
} StringWork;

static PublishedSwitches
published_switches(int which)
{
	return {which == FIXED_IDS_KEEPING, which == FIXED_IDS || which == FIXED_IDS_KEEPING};
}

static DevSortStatus
string_work(void *arg, cudaStream_t stream)
{
	StringWork *work = (StringWork *) arg;
	StringCase *string_case = work->string_case;

	if (work->which == THRUST)
		return thrust_strings_sort(&string_case->strings, string_case->indexes, string_case->workspace,
								   string_case->workspace_bytes, stream);
	if (work->which == SEGMENTS)
		return devsort_strings(&string_case->jobs[SEGMENTS], string_case->workspace,
							   string_case->workspace_bytes, stream);
	return published_strings_sort(&string_case->jobs[work->which], published_switches(work->which),
								  string_case->workspace, stream);
}

static DevSortStatus
run_sorter(Bench *bench, StringCase *string_case, int which, Times *times)
{
	StringWork work = {string_case, which};

	RETURN_IF_FAILED(make_row_numbers(string_case->indexes, string_case->strings.n, bench->stream));
	RETURN_IF_FAILED(bench_flush(bench, string_case->set->bytes.size()));
	return bench_time(bench, string_work, &work, times);
}

/* Also warms up. */
static DevSortStatus
run_and_check(Bench *bench, StringCase *string_case, int which)
{
	Times untimed = {};

	RETURN_IF_FAILED(run_sorter(bench, string_case, which, &untimed));
	return strings_check(&string_case->strings, string_case->indexes, string_case->scratch,
						 &string_case->ties, bench->stream);
}

static void
stop_sorter(Bench *bench, StringCase *string_case, int which, const DevSortStatus *status)
{
	string_case->stopped[which] = true;
	bench_fail(bench, status, "%s, %s, %s", sorter_names[which], string_case->dataset->name,
			   string_case->figure);
}

/* t1, t2, t3 of one more run. */
static DevSortStatus
measure_stages(Bench *bench, StringCase *string_case, int which, double stage_ms[3])
{
	static const char *const names[3] = {"sort", "segments", "load"};
	StageTimes *stages = string_case->stages;
	Times untimed = {};

	stage_ms[0] = stage_ms[1] = stage_ms[2] = 0;
	if (which == THRUST)
		return status_ok();
	stage_times_reset(stages);
	string_case->jobs[which].stages = &stages->stages;
	RETURN_IF_FAILED(run_sorter(bench, string_case, which, &untimed));
	RETURN_IF_FAILED(stage_times_collect(stages));
	for (int i = 0; i < stages->nnames; i++)
	{
		for (int name = 0; name < 3; name++)
		{
			if (strcmp(stages->names[i], names[name]) == 0)
				stage_ms[name] = stages->ms[i];
		}
	}
	return status_ok();
}

/* What the paper measured for this sorter; 0: nothing. */
static double
paper_ms(const Dataset *dataset, int which)
{
	switch (which)
	{
		case SEGMENTS:
		case PUBLISHED:
			return dataset->paper_ms;
		case FIXED_IDS:
			return dataset->paper_fixed_ms;
		case FIXED_IDS_KEEPING:
			return dataset->paper_kept_ms;
		default:
			return 0;
	}
}

static void
report_sorter(Report *report, const StringCase *string_case, int which, const double stage_ms[3])
{
	const Dataset *dataset = string_case->dataset;
	double theirs = strcmp(string_case->figure, "table") == 0 ? paper_ms(dataset, which) : 0;
	double their_rate = theirs > 0 ? dataset->n / theirs / 1000 : 0;
	double thrust_ms = string_case->stopped[THRUST] ? 0 : times_median(&string_case->times[THRUST]);
	ReportRow row = {};

	row.algorithm = sorter_names[which];
	row.distribution = dataset->name;
	row.value_bytes = 4;
	row.n = string_case->strings.n;
	row.median_ms = times_median(&string_case->times[which]);
	row.min_ms = times_min(&string_case->times[which]);
	row.bytes = (double) string_case->set->bytes.size();
	row.repeats = string_case->times[which].count;
	report_write(report, &row, "%s,%s,%llu,%.2f,%.2f,%llu,%d,%.4g,%.4g,%.4g,%.4g,%d,%.4g,%.4g,%.4g,%.4g,%.4g",
				 string_case->figure, string_case->set->source.c_str(),
				 (unsigned long long) string_case->set->bytes.size(), string_case->ties.average,
				 string_case->ties.deviation, (unsigned long long) string_case->ties.longest,
				 which == THRUST ? 0 : string_case->rounds[which], stage_ms[0], stage_ms[1], stage_ms[2],
				 dataset->paper_tie, which == SEGMENTS || which == PUBLISHED ? dataset->paper_rounds : 0,
				 theirs, their_rate, their_rate > 0 ? row.n / row.median_ms / 1000 / their_rate : 0,
				 thrust_ms / row.median_ms,
				 (which == SEGMENTS || which == PUBLISHED) && theirs > 0 ? dataset->paper_speed_up : 0);
}

/* All sorters on one set of strings: checked, timed in turn, and then their stages. */
static void
measure_set(Bench *bench, Report *report, const Dataset *dataset, const StringSet *set, const char *figure,
			StageTimes *stages)
{
	StringCase string_case = {};
	DevSortStatus status;
	double stage_ms[3];

	string_case.dataset = dataset;
	string_case.set = set;
	string_case.figure = figure;
	string_case.stages = stages;
	status = prepare_case(bench, &string_case);
	if (status.code != DEVSORT_OK)
	{
		bench_fail(bench, &status, "strings, %s, %s", dataset->name, figure);
		return;
	}
	for (int which = 0; which < NSTRING_SORTERS; which++)
	{
		status = run_and_check(bench, &string_case, which);
		if (status.code != DEVSORT_OK)
			stop_sorter(bench, &string_case, which, &status);
	}
	for (int repeat = 0; repeat < bench->options.repeat; repeat++)
	{
		for (int which = 0; which < NSTRING_SORTERS; which++)
		{
			if (string_case.stopped[which])
				continue;
			status = run_sorter(bench, &string_case, which, &string_case.times[which]);
			if (status.code != DEVSORT_OK)
				stop_sorter(bench, &string_case, which, &status);
		}
	}
	for (int which = 0; which < NSTRING_SORTERS; which++)
	{
		if (string_case.stopped[which])
			continue;
		status = measure_stages(bench, &string_case, which, stage_ms);
		if (status.code != DEVSORT_OK)
			stop_sorter(bench, &string_case, which, &status);
		else
			report_sorter(report, &string_case, which, stage_ms);
	}
}

/* Table VII: the set twice, which is the most that the paper sorts. */
static void
measure_twice(Bench *bench, Report *report, const Dataset *dataset, const StringSet *set, StageTimes *stages)
{
	StringSet twice;

	dataset_double(set, &twice);
	measure_set(bench, report, dataset, &twice, "twice", stages);
}

/*
 * Figure 4: the deviation of the ties divided or multiplied by a factor; the set as it is has been measured.
 */
static void
measure_deviations(Bench *bench, Report *report, const Dataset *dataset, const StringSet *set,
				   StageTimes *stages)
{
	static const int words_factors[] = {-8, -4, 2, 4, 0};
	static const int paths_factors[] = {-8, -4, -2, 0};
	const int *factors = strcmp(dataset->name, "words") == 0 ? words_factors : paths_factors;

	for (; *factors != 0; factors++)
	{
		StringSet changed;
		char figure[32];

		if (*factors < 0)
		{
			dataset_thin(set, -*factors, &changed);
			snprintf(figure, sizeof(figure), "deviation/%d", -*factors);
		}
		else
		{
			dataset_stretch(set, *factors, &changed);
			snprintf(figure, sizeof(figure), "deviation*%d", *factors);
		}
		measure_set(bench, report, dataset, &changed, figure, stages);
	}
}

void
suite_strings(Bench *bench)
{
	StageTimes *stages = NULL;
	Report report;
	DevSortStatus status = report_open(&report, bench, "strings", "strings", columns);

	if (status.code == DEVSORT_OK)
		status = stage_times_create(&stages);
	if (status.code != DEVSORT_OK)
	{
		stage_times_destroy(stages);
		bench_fail(bench, &status, "strings");
		return;
	}
	for (int i = 0; i < NDATASETS; i++)
	{
		const Dataset *dataset = &datasets[i];
		bool in_figure_4 = strcmp(dataset->name, "words") == 0 || strcmp(dataset->name, "pc-filelist") == 0;
		StringSet set;

		dataset_make(dataset, dataset->n / (bench->options.quick ? QUICK_SHARE : 1), bench->options.data,
					 bench_seed(bench), &set);
		printf("strings  %s: %s\n", dataset->name, set.source.c_str());
		measure_set(bench, &report, dataset, &set, "table", stages);
		if (in_figure_4)
			measure_deviations(bench, &report, dataset, &set, stages);
		if (strcmp(dataset->name, "pc-filelist") == 0)
			measure_twice(bench, &report, dataset, &set, stages);
	}
	stage_times_destroy(stages);
	report_close(&report);
}
