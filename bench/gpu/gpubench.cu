/*
 * gpubench.cu
 *		Measures the device library against the libraries on the card at hand: the options, and the list of
 *		suites.
 *
 * Results are CSV files, from which bench/gpu/plot draws the papers' figures.
 */
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "gpu/harness/bench.h"

typedef struct Suite
{
	const char *name;
	void (*run)(Bench *bench);
	const char *what;
} Suite;

static const Suite suites[] = {
	{"rates", suite_rates, "sorting rate over n = 2^17 .. 2^28, six distributions, five kinds of keys"},
	{"bucket", suite_bucket,
	 "bucket sort: time by step, over s, over distributions; bytes per key, the largest n"},
	{"wide", suite_wide, "keys of 16, 24 and 32 bytes with a row number"},
	{"strings", suite_strings, "the ten data sets of the string sort paper, its tables and figure 4"},
	{"gather", suite_gather, "rows of 24 to 256 bytes in random order"},
	{"headline", suite_headline, "all that is claimed, at 2^27 rows, as a table of ratios"},
	{"stages", suite_stages, "time by stage at 2^27 rows, as a share of the rate of a device copy"},
	{"variance", suite_variance, "100 sorts each, with other keys every time: mean, deviation, extremes"},
	{"strings-host", suite_strings_host, "the ten data sets sorted by one processor of the host"},
};

#define NSUITES (sizeof(suites) / sizeof(suites[0]))

static void
print_help(void)
{
	printf("gpubench measures sorting and gathering on a CUDA device.\n\n"
		   "Usage: gpubench [SUITE...] [OPTION...]\n\nSuites (all, if none is named):\n");
	for (size_t i = 0; i < NSUITES; i++)
		printf("  %-16s %s\n", suites[i].name, suites[i].what);
	printf(
		"\nOptions:\n"
		"  --out DIR        where the CSV files go (bench/results/gpu-CARD-DATE)\n"
		"  --data DIR       files words, url, sentences, genome, dictcalls, pc-filelist, a string a line, to sort instead\n"
		"                   of generated ones; a file with fewer lines than the paper's set is repeated with prefixes\n"
		"  --max-log-n N    at most 2^N rows (28)\n"
		"  --repeat R       times every sort is timed; about twice as often up to 2^22 rows (5)\n"
		"  --quick          fewer and smaller sizes: a look, not a result\n"
		"  --seed S         of all that is random (the time)\n"
		"  --commit ID      what the results are labelled with\n"
		"  --device D       which card (0)\n"
		"  --help           this text\n\n"
		"Every result is checked on the device before it is timed.  What fails is said on stderr and left out; the exit\n"
		"status is then 1.  Draw the figures with bench/gpu/plot DIR.\n");
}

/* A number from low to high. */
static uint64_t
parse_number(const char *option, const char *text, uint64_t low, uint64_t high)
{
	char *end;
	uint64_t number = text ? strtoull(text, &end, 10) : 0;

	if (text == NULL || *text == '\0' || *text == '-' || *end != '\0' || number < low || number > high)
	{
		fprintf(stderr, "gpubench: %s needs a number from %llu to %llu\n", option, (unsigned long long) low,
				(unsigned long long) high);
		exit(2);
	}
	return number;
}

static const char *
parse_text(const char *option, const char *text)
{
	if (text == NULL)
	{
		fprintf(stderr, "gpubench: %s needs a value\n", option);
		exit(2);
	}
	return text;
}

/* Sets the option; false if there is none of that name.  Takes of the value what it needs. */
static bool
parse_option(Options *options, const char *option, const char *value)
{
	if (strcmp(option, "--out") == 0)
		options->out = parse_text(option, value);
	else if (strcmp(option, "--data") == 0)
		options->data = parse_text(option, value);
	else if (strcmp(option, "--commit") == 0)
		options->commit = parse_text(option, value);
	else if (strcmp(option, "--max-log-n") == 0)
		options->max_log_n = (int) parse_number(option, value, 17, 31);
	else if (strcmp(option, "--repeat") == 0)
		options->repeat = (int) parse_number(option, value, 1, BENCH_MAX_REPEATS / 2);
	else if (strcmp(option, "--seed") == 0)
		options->seed = parse_number(option, value, 0, UINT64_MAX);
	else if (strcmp(option, "--device") == 0)
		options->device = (int) parse_number(option, value, 0, 1023);
	else
		return false;
	return true;
}

/* Notes the suite of that name; false if there is none. */
static bool
parse_suite(bool chosen[NSUITES], const char *name)
{
	for (size_t i = 0; i < NSUITES; i++)
	{
		if (strcmp(suites[i].name, name) == 0)
			return chosen[i] = true;
	}
	return false;
}

static void
parse_arguments(int argc, char **argv, Options *options, bool chosen[NSUITES])
{
	bool any = false;

	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--help") == 0)
		{
			print_help();
			exit(0);
		}
		if (strcmp(argv[i], "--quick") == 0)
			options->quick = true;
		else if (parse_suite(chosen, argv[i]))
			any = true;
		else if (parse_option(options, argv[i], i + 1 < argc ? argv[i + 1] : NULL))
			i++;
		else
		{
			fprintf(stderr, "gpubench: no suite or option is called %s; see gpubench --help\n", argv[i]);
			exit(2);
		}
	}
	for (size_t i = 0; i < NSUITES && !any; i++)
		chosen[i] = true;
	if (options->quick && options->max_log_n == 0)
		options->max_log_n = 24;
	if (options->max_log_n == 0)
		options->max_log_n = 28;
	if (options->repeat == 0)
		options->repeat = options->quick ? 3 : 5;
}

int
main(int argc, char **argv)
{
	Options options = {};
	bool chosen[NSUITES] = {};
	Bench bench;
	DevSortStatus status;

	options.seed = (uint64_t) time(NULL);
	options.commit = "";
	parse_arguments(argc, argv, &options, chosen);
	status = bench_open(&bench, &options);
	if (status.code != DEVSORT_OK)
	{
		fprintf(stderr, "gpubench: %s\n", status.message);
		bench_close(&bench);
		return 1;
	}
	printf("gpubench on %s, driver %d.%d, CUDA %d.%d, seed %llu, results in %s\n", bench.device.name,
		   bench.device.driver_version / 1000, bench.device.driver_version % 1000 / 10,
		   bench.device.runtime_version / 1000, bench.device.runtime_version % 1000 / 10,
		   (unsigned long long) options.seed, bench.out);
	for (size_t i = 0; i < NSUITES; i++)
	{
		if (chosen[i])
			suites[i].run(&bench);
	}
	bench_close(&bench);
	if (bench.failures)
		fprintf(stderr, "gpubench: %d series failed\n", bench.failures);
	return bench.failures > 0;
}
