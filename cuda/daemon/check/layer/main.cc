/*
 * main.cc
 *		layercheck: the tests of the CUDA layer over a CUDA runtime in host memory.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "daemon/check/layer/check.h"
#include "daemon/fake/fake_cuda.h"

bool
nothing_is_held()
{
	FakeHoldings held = fake_holdings();

	if (held.streams == 0 && held.events == 0 && held.pinned == 0 && held.ranges == 0 && held.bytes == 0)
		return true;
	note("left: %d streams, %d events, %d pinned blocks, %d ranges of addresses, %llu bytes", held.streams,
		 held.events, held.pinned, held.ranges, (unsigned long long) held.bytes);
	return false;
}

int
main(int argc, char **argv)
{
	std::mt19937_64 random(1);

	if (argc == 3 && strcmp(argv[1], "--seed") == 0)
		random.seed(strtoull(argv[2], nullptr, 10));
	else if (argc != 1)
	{
		fprintf(stderr, "layercheck [--seed NUMBER]: tests of gpusortd's CUDA layer, without CUDA\n");
		return 2;
	}
	check_devices();
	check_promises(&random);
	check_faults();
	return report_end();
}
