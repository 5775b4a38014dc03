/*
 * stages.cu
 *		What the library's sorts spend their time on at 2^27 rows, by stage, and how near each stage comes to
 *		the rate of the device's own copy.
 *
 * The bytes of a stage are what it must read and write, each key, value and bucket number once; a stage whose
 * bytes depend on the data, or that moves next to nothing, has none.  Samples are some hundredths of the keys
 * and aren't counted.  An event where a stage begins costs next to nothing, but stages don't overlap then:
 * what they take together is in the row `all`.
 */
#include <algorithm>
#include <cstring>

#include "gpu/suites/sort_case.h"

#define STAGES_LOG_N 27
#define QUICK_LOG_N 24

static const char columns[] = "step,stage,bytes_per_row,copy_gb_per_s,share_of_copy";

/* What a stage reads and writes: so many keys, values and further bytes a row. */
typedef struct StageBytes
{
	const char *stage;
	int keys;
	int values;
	int others;
} StageBytes;

/*
 * A bucket number has one byte up to 2^28 rows; where there are two levels, the first has none, and isn't
 * counted.
 */
static const StageBytes narrow_stages[] = {
	{"scatter 1", 2, 2, 0},			 {"count 2", 1, 0, 1},
	{"scatter 2", 2, 2, 1},			 {"leaves", 2, 2, 0},
	{"local sort", 2, 2, 0},		 {"relocation", 2, 2, 0},
	{"sublist local sort", 2, 2, 0}, {"sublist relocation", 2, 2, 0},
	{"bucket sort", 2, 2, 0},
};

/*
 * Keys of more than 16 bytes are sorted by 8 bytes of each and a row number.  They are read once for the bits
 * that vary and once for these 8 bytes, and are gathered at the end, with their values, by row numbers.
 */
static const StageBytes wide_stages[] = {
	{"squeeze", 2, 1, 8},			{"scatter 1", 0, 2, 2 * 8}, {"count 2", 0, 0, 8 + 1},
	{"scatter 2", 0, 2, 2 * 8 + 1}, {"leaves", 0, 2, 2 * 8},	{"gather", 2, 2, 4},
};

/* Bytes a row; 0 if nobody can say. */
static int
stage_bytes(const KeyType *type, const char *stage)
{
	bool wide = type->key_bytes > 16;
	const StageBytes *entry = wide ? wide_stages : narrow_stages;
	size_t count = wide ? sizeof(wide_stages) / sizeof(wide_stages[0])
						: sizeof(narrow_stages) / sizeof(narrow_stages[0]);

	for (size_t i = 0; i < count; i++)
	{
		if (strcmp(entry[i].stage, stage) == 0)
			return entry[i].keys * type->key_bytes + entry[i].values * type->value_bytes + entry[i].others;
	}
	return 0;
}

/* The stages of some runs of one contender; the last place is for all together. */
typedef struct StageSeries
{
	int count;
	const char *names[STAGES_MAX_NAMES + 1];
	Times times[STAGES_MAX_NAMES + 1];
} StageSeries;

/* Adds what a run's stages took. */
static void
add_run(StageSeries *series, const StageTimes *stages, const Times *whole)
{
	series->count = stages->nnames;
	for (int i = 0; i < stages->nnames; i++)
	{
		series->names[i] = stages->names[i];
		series->times[i].ms[series->times[i].count++] = (float) stages->ms[i];
	}
	series->names[series->count] = "all";
	series->times[series->count].ms[series->times[series->count].count++] = whole->ms[0];
}

static void
report_series(Report *report, const SortCase *sort_case, const StageSeries *series, double bandwidth)
{
	const KeyType *type = sort_case->type;

	for (int i = 0; i <= series->count; i++)
	{
		int bytes = stage_bytes(type, series->names[i]);
		ReportRow row = sort_case_row(sort_case, sort_case->contenders[0], UNIFORM, &series->times[i]);

		row.bytes = bytes > 0 ? (double) bytes * row.n : -1;
		report_write(report, &row, "%d,%s,%d,%.5g,%.4g", i, series->names[i], bytes, bandwidth / 1e9,
					 bytes > 0 ? row.bytes / (row.median_ms / 1000) / bandwidth : 0);
	}
}

/* One contender: checked, and then its stages in some runs. */
static DevSortStatus
measure_contender(Bench *bench, Report *report, const KeyType *type, const Contender *contender, int log_n,
				  StageTimes *stages, double bandwidth)
{
	StageSeries series = {};
	SortCase sort_case = {};
	Times warm_up = {};

	sort_case.type = type;
	sort_case.contenders[sort_case.ncontenders++] = contender;
	RETURN_IF_FAILED(sort_case_prepare(bench, &sort_case, UNIFORM, UINT64_C(1) << log_n));
	RETURN_IF_FAILED(sort_case_run(bench, &sort_case, contender, &warm_up));
	RETURN_IF_FAILED(sort_case_verify(bench, &sort_case));
	sort_case.arrays.stages = &stages->stages;
	for (int repeat = 0; repeat < bench->options.repeat; repeat++)
	{
		Times whole = {};

		stage_times_reset(stages);
		RETURN_IF_FAILED(sort_case_run(bench, &sort_case, contender, &whole));
		RETURN_IF_FAILED(stage_times_collect(stages));
		add_run(&series, stages, &whole);
	}
	report_series(report, &sort_case, &series, bandwidth);
	return status_ok();
}

static void
measure_all(Bench *bench, Report *report, int log_n, StageTimes *stages, double bandwidth)
{
	for (int i = 0; i < NVALUED_TYPES; i++)
	{
		static const Contender *const contenders[] = {&contender_sample, &contender_bucket};

		for (int which = 0; which < (valued_types[i].key_bytes > 8 ? 1 : 2); which++)
		{
			DevSortStatus status = measure_contender(bench, report, &valued_types[i], contenders[which],
													 log_n, stages, bandwidth);

			if (status.code != DEVSORT_OK)
				bench_fail(bench, &status, "stages, %s, %s", contenders[which]->name, valued_types[i].name);
		}
	}
}

void
suite_stages(Bench *bench)
{
	int log_n = std::min(bench->options.quick ? QUICK_LOG_N : STAGES_LOG_N, bench->options.max_log_n);
	StageTimes *stages = NULL;
	SortCase widest = {};
	Times copies = {};
	double copied;
	Report report;
	DevSortStatus status = report_open(&report, bench, "stages", "stages", columns);

	widest.type = &valued_types[NVALUED_TYPES - 1];
	widest.contenders[widest.ncontenders++] = &contender_sample;
	if (status.code == DEVSORT_OK)
		status = sort_case_reserve(bench, &widest, &log_n);
	if (status.code == DEVSORT_OK)
		status = stage_times_create(&stages);
	if (status.code == DEVSORT_OK)
		status = bench_time_copy(bench, &copies, &copied);
	if (status.code == DEVSORT_OK)
		measure_all(bench, &report, log_n, stages, copied / (times_median(&copies) / 1000));
	else
		bench_fail(bench, &status, "stages");
	stage_times_destroy(stages);
	report_close(&report);
}
