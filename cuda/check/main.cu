/*
 * main.cu
 *		gpucheck: the checks of the device library.
 *
 * Prints a line a group of cases, and exits with 1 if one failed.  Without a device the sections that need
 * one are skipped and counted as such.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "check/harness/check.h"

typedef struct CheckSection
{
	const char *name;
	bool needs_device;
	void (*run)(Check *check);
} CheckSection;

static const CheckSection sections[] = {
	{"oracle", false, check_oracle},
	{"arguments", false, check_arguments},
	{"string-keys", false, check_string_keys},
	{"fixed", true, check_fixed},
	{"bucket-bound", true, check_bucket_bound},
	{"rare", true, check_rare},
	{"strings", true, check_strings},
	{"rows", true, check_rows},
	{"buffer", true, check_buffer},
	{"streams", true, check_streams},
	{"faults", true, check_faults},
};

static void
print_usage(FILE *to)
{
	fprintf(to, "gpucheck [option ...] [section ...]: checks of the device library\n"
				"  --host               only what needs no device\n"
				"  --quick              a part, in less than a minute\n"
				"  --algorithm NAME     auto, sample, bucket or radix only\n"
				"  --width BYTES        keys of 4, 8, 16, 24 or 32 bytes only\n"
				"  --distribution NAME  of fixed keys\n"
				"  --n ROWS             this size only: fixed keys (every combination), strings, rows\n"
				"  --seed NUMBER        of all that is random; default: the time\n"
				"  --seconds NUMBER     for random cases of fixed keys; default 150, with --quick 5\n"
				"  --list               names the groups and distributions, runs nothing\n"
				"sections:");
	for (const CheckSection &section : sections)
		fprintf(to, " %s", section.name);
	fprintf(to, "\n");
}

static void
usage_error(const char *what, const char *value)
{
	fprintf(stderr, "gpucheck: %s: \"%s\"\n", what, value);
	print_usage(stderr);
	exit(2);
}

static uint64_t
parse_number(const char *option, const char *value)
{
	char *end;
	uint64_t number = strtoull(value, &end, 10);

	if (*value < '0' || *value > '9' || *end != '\0')
		usage_error(option, value);
	return number;
}

static int
parse_name(const char *option, const char *value, int (*by_name)(const char *name))
{
	int found = by_name(value);

	if (found < 0)
		usage_error(option, value);
	return found;
}

static int
parse_width(const char *value)
{
	uint64_t width = parse_number("--width", value);

	if (width != 4 && (width < 8 || width > 32 || width % 8 != 0))
		usage_error("--width is 4, 8, 16, 24 or 32, not", value);
	return (int) width;
}

/* Takes an option that has a value. */
static void
parse_option(CheckOptions *options, const char *option, const char *value)
{
	if (strcmp(option, "--algorithm") == 0)
		options->algorithm = parse_name(option, value, algorithm_by_name);
	else if (strcmp(option, "--distribution") == 0)
		options->distribution = parse_name(option, value, distribution_by_name);
	else if (strcmp(option, "--width") == 0)
		options->width = parse_width(value);
	else if (strcmp(option, "--seed") == 0)
		options->seed = parse_number(option, value);
	else if (strcmp(option, "--seconds") == 0)
		options->seconds = (double) parse_number(option, value);
	else if (strcmp(option, "--n") == 0)
	{
		options->has_n = true;
		options->n = parse_number(option, value);
		if (options->n > UINT64_C(1) << 30)
			usage_error(option, value);
	}
	else
		usage_error("no such option", option);
}

static void
parse_section(CheckOptions *options, char *name)
{
	for (const CheckSection &section : sections)
	{
		if (strcmp(name, section.name) == 0)
		{
			options->only[options->nonly++] = name;
			return;
		}
	}
	usage_error("no such section", name);
}

static CheckOptions
parse_options(int argc, char **argv)
{
	CheckOptions options = {};

	options.algorithm = -1;
	options.distribution = -1;
	options.seed = (uint64_t) time(NULL);
	options.seconds = -1;
	options.only = argv; /* names move to the front, where the options were */
	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--help") == 0)
		{
			print_usage(stdout);
			exit(0);
		}
		else if (strcmp(argv[i], "--host") == 0)
			options.host_only = true;
		else if (strcmp(argv[i], "--quick") == 0)
			options.quick = true;
		else if (strcmp(argv[i], "--list") == 0)
			options.list = true;
		else if (argv[i][0] != '-')
			parse_section(&options, argv[i]);
		else if (i + 1 == argc)
			usage_error("no such option, or without its value", argv[i]);
		else
		{
			parse_option(&options, argv[i], argv[i + 1]);
			i++;
		}
	}
	if (options.seconds < 0)
		options.seconds = options.quick ? 5 : 150;
	return options;
}

static bool
section_wanted(const CheckOptions *options, const char *name)
{
	for (int i = 0; i < options->nonly; i++)
	{
		if (strcmp(options->only[i], name) == 0)
			return true;
	}
	return options->nonly == 0;
}

/* Tells which device it is; false, with the reason, if there is none. */
static bool
find_device(DevSortStatus *reason)
{
	DevSortDevice device;
	int count;

	*reason = devsort_device_count(&count);
	if (reason->code != DEVSORT_OK)
		return false;
	*reason = devsort_device_describe(0, &device);
	if (reason->code != DEVSORT_OK)
		return false;
	printf("# %s, compute capability %d.%d, %zu of %zu bytes free, driver %d, runtime %d\n", device.name,
		   device.compute_major, device.compute_minor, device.free_bytes, device.memory_bytes,
		   device.driver_version, device.runtime_version);
	return true;
}

static void
run_section(Check *check, const CheckSection *section, bool has_device, const DevSortStatus *no_device)
{
	const CheckOptions *options = &check->options;

	if (!section_wanted(options, section->name) || (section->needs_device && options->host_only))
		return;
	if (section->needs_device && !has_device && !options->list)
	{
		check_group_skip(check, section->name, no_device->message);
		return;
	}
	section->run(check);
}

int
main(int argc, char **argv)
{
	static Check check;
	DevSortStatus no_device = {};
	bool has_device = false;

	check.options = parse_options(argc, argv);
	if (check.options.list)
	{
		printf("distributions:");
		for (int i = 0; i < NCHECKED_DISTRIBUTIONS; i++)
			printf(" %s", distribution_name(i));
		printf("\n");
	}
	else
		printf("# seed %llu\n", (unsigned long long) check.options.seed);
	if (!check.options.host_only && !check.options.list)
		has_device = find_device(&no_device);
	for (const CheckSection &section : sections)
		run_section(&check, &section, has_device, &no_device);
	if (!check.options.list)
		printf("%d passed, %d failed, %d skipped\n", check.passed, check.failed, check.skipped);
	return check.failed > 0 ? 1 : 0;
}
