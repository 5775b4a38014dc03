/*
 * main.cc
 *		daemoncheck: the tests of gpusortd.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <signal.h>

#include "daemon/check/bench/bench.h"

CheckOptions options;

struct Section
{
	const char *name;
	bool host_only; /* needs the layer in host memory */
	void (*run)(Random *random);
};

static const Section sections[] = {
	{"program", true, check_program},	  {"jobs", false, check_jobs},
	{"clients", false, check_clients},	  {"joiners", false, check_joiners},
	{"admission", true, check_admission}, {"idle", true, check_idle},
	{"full", false, check_full},		  {"ranks", false, check_ranks},
	{"messages", false, check_messages},  {"fuzz", false, check_fuzz},
	{"faults", true, check_faults},		  {"limits", true, check_limits},
};

static void
print_usage(FILE *to)
{
	fprintf(
		to,
		"daemoncheck [option ...] [section ...]: tests of gpusortd\n"
		"  --program PATH    gpusortd; default: the one above this program's folder\n"
		"  --cuda            sort on a GPU, not in host memory\n"
		"  --fake-cuda       the same over a CUDA runtime in host memory, with the gpusortd in daemon/fake\n"
		"  --seed NUMBER     of all that is random\n"
		"  --seconds NUMBER  of random jobs, and of random messages; default 5\n"
		"  --bench           no tests: how fast rows go through gpusortd\n"
		"  --fewer NUMBER    so many times fewer rows in the large cases of --bench; default 1 with --cuda, 100 without\n"
		"sections:");
	for (const Section &section : sections)
		fprintf(to, " %s", section.name);
	fprintf(to, "\n");
}

static bool
is_wanted(const Section &section, const std::vector<std::string> &names)
{
	bool wanted = names.empty();

	for (const std::string &name : names)
		wanted |= name == section.name;
	return wanted;
}

static std::string
folder_of(const std::string &path)
{
	return path.find('/') == std::string::npos ? "." : path.substr(0, path.rfind('/'));
}

/* False: not understood. */
static bool
parse_options(int argc, char **argv, std::vector<std::string> *names)
{
	for (int i = 1; i < argc; i++)
	{
		bool more = i + 1 < argc;

		if (strcmp(argv[i], "--cuda") == 0)
			options.cuda = true;
		else if (strcmp(argv[i], "--fake-cuda") == 0)
		{
			options.cuda = options.small = true;
			options.program = folder_of(argv[0]) + "/../fake/gpusortd";
		}
		else if (strcmp(argv[i], "--program") == 0 && more)
			options.program = argv[++i];
		else if (strcmp(argv[i], "--seed") == 0 && more)
			options.seed = strtoull(argv[++i], nullptr, 10);
		else if (strcmp(argv[i], "--seconds") == 0 && more)
			options.seconds = atoi(argv[++i]);
		else if (strcmp(argv[i], "--bench") == 0)
			options.bench = true;
		else if (strcmp(argv[i], "--fewer") == 0 && more)
			options.fewer = strtoull(argv[++i], nullptr, 10);
		else if (argv[i][0] != '-')
			names->push_back(argv[i]);
		else
			return false;
	}
	return true;
}

int
main(int argc, char **argv)
{
	std::vector<std::string> names;

	options.program = folder_of(argv[0]) + "/../gpusortd";
	if (!parse_options(argc, argv, &names))
	{
		print_usage(stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	if (options.bench)
		return bench_main(options.fewer > 0 ? options.fewer : options.cuda ? 1 : 100);
	printf("# seed %llu\n", (unsigned long long) options.seed);
	for (const Section &section : sections)
	{
		Random random(options.seed);

		if (!is_wanted(section, names))
			continue;
		if (options.cuda && section.host_only)
			printf("skipped: %s, which needs the layer in host memory\n", section.name);
		else
			section.run(&random);
	}
	return report_end();
}
