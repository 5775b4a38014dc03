/*
 * leaf_pages.cu
 *		What would a build of an index gain if a card made its leaf pages?  The options, and the table.
 */
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "base/status.h"
#include "leaf_pages/check.h"
#include "leaf_pages/measure.h"

/* Of a window, 4 MB of pages. */
#define WINDOW_LEAVES 512

#define SEED 20261122

typedef struct Options
{
	uint64_t rows;
	int columns;
	int equal;
	int repeat;
	bool with_checksums;
	bool only_check;
	std::vector<int> threads;
	const char *directory;
	const char *compare;
} Options;

/* Times in ms, medians; negative: not measured. */
typedef struct Line
{
	double card;	  /* the card's work alone */
	double fetched;	  /* and copying to the host */
	double filled;	  /* the host's work alone, of rows in memory */
	double in_memory; /* pages in the host's memory, by all of that at once */
	double written;	  /* writing alone */
	double whole;
} Line;

static void
print_help(void)
{
	printf(
		"leaf_pages measures B-tree leaves that a card fills against those that the host fills of a card's rows.\n\n"
		"Usage: leaf_pages [OPTION...]\n\n"
		"  --rows N           rows of the index (50000000)\n"
		"  --columns C        int8 columns, 1 or 2 (1)\n"
		"  --equal K          rows of each key; there are no posting lists (1)\n"
		"  --checksums        pages get checksums\n"
		"  --threads LIST     of the host (1,7,15)\n"
		"  --repeat R         times each stage is timed; medians are printed (5)\n"
		"  --directory DIR    where the file is written, and removed (.)\n"
		"  --check            only compare pages of small indexes\n"
		"  --compare FILE     only compare with the leaves of a file that PostgreSQL wrote: of an index of --columns\n"
		"                     int8 columns, WITH (deduplicate_items = off), after a CHECKPOINT\n"
		"  --help             this text\n\n"
		"Without a card the host's stages are measured alone.  The exit status is 1 if a page was wrong.\n");
}

/* ---------------------------------------------------------------- options */

static uint64_t
parse_number(const char *option, const char *text, uint64_t low, uint64_t high)
{
	char *end = NULL;
	uint64_t value = text ? strtoull(text, &end, 10) : 0;

	if (text == NULL || end == text || *end != '\0' || *text == '-' || value < low || value > high)
	{
		fprintf(stderr, "leaf_pages: %s needs a number from %llu to %llu\n", option, (unsigned long long) low,
				(unsigned long long) high);
		exit(2);
	}
	return value;
}

static std::vector<int>
parse_list(const char *option, const char *text)
{
	std::string rest = text ? text : "";
	std::vector<int> list;

	do
	{
		size_t comma = rest.find(',');

		list.push_back((int) parse_number(option, rest.substr(0, comma).c_str(), 1, 256));
		rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
	} while (!rest.empty());
	return list;
}

/* Options without a value; false if this is none. */
static bool
parse_switch(Options *options, const char *option)
{
	if (strcmp(option, "--checksums") == 0)
		return options->with_checksums = true;
	if (strcmp(option, "--check") == 0)
		return options->only_check = true;
	if (strcmp(option, "--help") != 0)
		return false;
	print_help();
	exit(0);
}

static bool
parse_option(Options *options, const char *option, const char *value)
{
	if (strcmp(option, "--rows") == 0)
		options->rows = parse_number(option, value, 1, 1000000000);
	else if (strcmp(option, "--columns") == 0)
		options->columns = (int) parse_number(option, value, 1, 2);
	else if (strcmp(option, "--equal") == 0)
		options->equal = (int) parse_number(option, value, 1, 1000000);
	else if (strcmp(option, "--repeat") == 0)
		options->repeat = (int) parse_number(option, value, 1, 1000);
	else if (strcmp(option, "--threads") == 0)
		options->threads = parse_list(option, value);
	else if (strcmp(option, "--directory") == 0 && value)
		options->directory = value;
	else if (strcmp(option, "--compare") == 0 && value)
		options->compare = value;
	else
		return false;
	return true;
}

static Options
parse_arguments(int argc, char **argv)
{
	Options options = {50000000, 1, 1, 5, false, false, {1, 7, 15}, ".", NULL};

	for (int i = 1; i < argc; i++)
	{
		if (parse_switch(&options, argv[i]))
			continue;
		if (!parse_option(&options, argv[i], i + 1 < argc ? argv[i + 1] : NULL))
		{
			fprintf(stderr, "leaf_pages: %s is no option, or lacks its value; see leaf_pages --help\n",
					argv[i]);
			exit(2);
		}
		i++;
	}
	return options;
}

/* ---------------------------------------------------------------- measuring */

static void
stop_if_failed(const DevSortStatus &status)
{
	if (status.code == DEVSORT_OK)
		return;
	fprintf(stderr, "leaf_pages: %s\n", status.message);
	exit(1);
}

/* A file that is gone when the program ends. */
static int
open_file(const char *directory)
{
	std::string name = std::string(directory) + "/leaf_pages.XXXXXX";
	int file = mkstemp(&name[0]);

	if (file < 0)
		stop_if_failed(status_make(DEVSORT_INVALID, "%s: %s", name.c_str(), strerror(errno)));
	unlink(name.c_str());
	return file;
}

static double
median(std::vector<double> times)
{
	std::sort(times.begin(), times.end());
	return times[times.size() / 2];
}

static double
stage_ms(const Options &options, const Measured *measured, const Stage &stage, int threads)
{
	std::vector<double> times(options.repeat);

	for (double &ms : times)
		stop_if_failed(measure_stage(measured, stage, threads, &ms));
	return median(times);
}

static double
card_ms(const Options &options, const Measured *measured, Way way)
{
	std::vector<double> times(options.repeat);

	for (double &ms : times)
		stop_if_failed(card_time(measured->card, way, &ms));
	return median(times);
}

/* All stages of a way; the memory that is written alone is not filled. */
static Line
measure_line(const Options &options, const Measured *measured, Way way, int threads)
{
	bool has_card = measured->card != NULL;
	bool fills = way == WAY_ROWS;
	Line line = {-1, -1, -1, -1, -1, -1};

	line.written = stage_ms(options, measured, {way, false, false, true, false}, threads);
	if (fills)
		line.filled = stage_ms(options, measured, {way, false, true, false, false}, threads);
	if (has_card)
	{
		line.card = card_ms(options, measured, way);
		line.fetched = stage_ms(options, measured, {way, true, false, false, false}, threads);
	}
	line.in_memory = fills && has_card ? stage_ms(options, measured, {way, true, true, false, false}, threads)
									   : line.fetched;
	if (has_card || fills)
		line.whole = stage_ms(options, measured, {way, has_card, fills, true, false}, threads);
	return line;
}

static std::string
number(double value, const char *format)
{
	char text[32];

	if (value < 0)
		return "";
	snprintf(text, sizeof(text), format, value);
	return text;
}

static void
print_line(const Options &options, Way way, int threads, const Line &line)
{
	uint64_t leaves = leaf_count(options.rows, leaf_capacity(options.columns));
	double bytes = way == WAY_PAGES ? (double) leaves * PAGE_BYTES
									: (double) options.rows * row_longs(options.columns) * 8;
	double rate = line.fetched < 0 ? -1 : bytes / line.fetched / 1e6;
	double tuple = line.filled < 0 ? -1 : line.filled * threads / (double) options.rows * 1e6;

	printf("| %d | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", threads,
		   way == WAY_PAGES ? "pages" : "rows", number(line.card, "%.1f").c_str(),
		   number(line.fetched, "%.1f").c_str(), number(rate, "%.1f").c_str(),
		   number(line.filled, "%.1f").c_str(), number(tuple, "%.1f").c_str(),
		   number(line.in_memory, "%.1f").c_str(), number(line.written, "%.1f").c_str(),
		   number(line.whole, "%.1f").c_str());
	fflush(stdout);
}

static void
print_head(const Options &options, const Measured *measured)
{
	uint64_t leaves = leaf_count(options.rows, leaf_capacity(options.columns));

	printf(
		"%s, %llu rows of %d int8, %d a key, %llu leaves, %.0f MB, %s checksums, rows of %d bytes, medians of %d\n\n",
		measured->card ? measured->card->device.name : "no card", (unsigned long long) options.rows,
		options.columns, options.equal, (unsigned long long) leaves, (double) leaves * PAGE_BYTES / 1e6,
		options.with_checksums ? "with" : "without", 8 * row_longs(options.columns), options.repeat);
	printf(
		"| threads | from the card come | card | fetched | GB/s | filled | ns a tuple | in memory | written | whole |\n"
		"|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
}

/* Every page of the card against the host's. */
static void
compare_all(const Measured *measured, int threads)
{
	double ms;

	stop_if_failed(measure_stage(measured, {WAY_PAGES, true, false, false, true}, threads, &ms));
	printf("ok: all pages of the card are those that the host fills\n");
}

static void
measure(const Options &options, bool has_card)
{
	int threads = *std::max_element(options.threads.begin(), options.threads.end());
	Card card = {};
	Rows rows;
	Rows sorted;
	Measured measured;

	rows_make(&rows, options.rows, options.columns, options.equal, SEED);
	rows_sort(&rows, &sorted);
	measured = {has_card ? &card : NULL, sorted.leaf_rows, WINDOW_LEAVES, options.with_checksums,
				open_file(options.directory)};
	if (has_card)
	{
		stop_if_failed(card_open(&card, rows.leaf_rows, 2 * threads, WINDOW_LEAVES, options.with_checksums));
		compare_all(&measured, threads);
	}
	print_head(options, &measured);
	for (int count : options.threads)
	{
		for (Way way : {WAY_ROWS, WAY_PAGES})
			print_line(options, way, count, measure_line(options, &measured, way, count));
	}
	close(measured.file);
	card_close(&card);
}

int
main(int argc, char **argv)
{
	Options options = parse_arguments(argc, argv);
	DevSortStatus status;
	int cards;

	if (options.compare)
		return check_file(options.compare, options.columns) ? 0 : 1;
	status = devsort_device_count(&cards);
	if (cards == 0)
		printf("skipped: the card's part: %s\n", status.message);
	if (check_pages(cards > 0) > 0)
		return 1;
	if (!options.only_check)
		measure(options, cards > 0);
	return 0;
}
