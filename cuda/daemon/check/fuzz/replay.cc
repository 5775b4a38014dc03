/*
 * replay.cc
 *		fuzzcheck: each case of a corpus once, as a test; it needs no libFuzzer.
 */
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "daemon/check/fuzz/case.h"
#include "daemon/check/harness/report.h"

static std::vector<uint8_t>
read_file(const std::filesystem::path &path)
{
	std::ifstream file(path, std::ios::binary);

	return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int
main(int argc, char **argv)
{
	std::vector<std::filesystem::path> paths;
	size_t sound = 0;

	if (argc != 2)
	{
		fprintf(stderr, "fuzzcheck FOLDER: sends gpusortd the messages of each file in the folder\n");
		return 2;
	}
	for (const auto &entry : std::filesystem::directory_iterator(argv[1]))
		paths.push_back(entry.path());
	std::sort(paths.begin(), paths.end());
	/* What gpusortd logs. */
	(void) dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	for (const std::filesystem::path &path : paths)
	{
		std::vector<uint8_t> bytes = read_file(path);
		std::string fault = run_case(bytes.data(), bytes.size());

		sound += fault.empty();
		if (!fault.empty())
			note("%s: %s", path.filename().c_str(), fault.c_str());
	}
	check(sound == paths.size() && sound > 0, "%zu of %zu cases of the corpus", sound, paths.size());
	return report_end();
}
