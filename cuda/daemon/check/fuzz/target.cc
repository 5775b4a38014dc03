/*
 * target.cc
 *		The same cases for libFuzzer, which looks for new ones.
 */
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "daemon/check/fuzz/case.h"

extern "C"
{
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
}

/* -close_fd_mask=2 closes the one that gpusortd logs to. */
static int messages = STDERR_FILENO;

int
LLVMFuzzerInitialize(int *, char ***)
{
	messages = dup(STDERR_FILENO);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	std::string fault = run_case(bytes, size);

	if (fault.empty())
		return 0;
	dprintf(messages, "FAILED: protocol: %s\n", fault.c_str());
	abort();
}
