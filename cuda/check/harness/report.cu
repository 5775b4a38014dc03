/*
 * report.cu
 *		The report of gpucheck: groups, cases, reasons, and random numbers.
 */
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <thread>

#include "check/harness/check.h"

bool
why_say(Why *why, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why->text, sizeof(why->text), format, arguments);
	va_end(arguments);
	return false;
}

bool
why_cuda(Why *why, cudaError_t error, const char *doing)
{
	if (error == cudaSuccess)
		return true;
	return why_say(why, "%s while %s", cudaGetErrorString(error), doing);
}

bool
why_status(Why *why, DevSortStatus status, const char *doing)
{
	if (status.code == DEVSORT_OK)
		return true;
	return why_say(why, "%s: code %d, %s", doing, (int) status.code, status.message);
}

bool
why_failure(Why *why, DevSortStatus status, int code, const char *doing)
{
	if (status.code == DEVSORT_OK)
		return why_say(why, "%s: should fail, and did not", doing);
	if (code >= 0 && status.code != code)
		return why_say(why, "%s: should fail with code %d, failed with %d, %s", doing, code,
					   (int) status.code, status.message);
	if (memchr(status.message, '\0', sizeof(status.message)) == NULL || status.message[0] == '\0')
		return why_say(why, "%s: failed without a message", doing);
	return true;
}

bool
check_group_begin(Check *check, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(check->group, sizeof(check->group), format, arguments);
	va_end(arguments);
	check->group_cases = 0;
	check->group_failures = 0;
	if (check->options.list)
	{
		printf("%s\n", check->group);
		return false;
	}
	if (check->device_lost)
	{
		check_group_skip(check, check->group, "the device failed before");
		return false;
	}
	return true;
}

void
check_case(Check *check, bool passed, const Why *why, const char *format, ...)
{
	va_list arguments;
	char which[480];

	check->group_cases++;
	if (passed)
		return;
	va_start(arguments, format);
	vsnprintf(which, sizeof(which), format, arguments);
	va_end(arguments);
	if (check->group_failures < CHECK_TOLD_FAILURES)
		snprintf(check->told[check->group_failures], sizeof(check->told[0]), "%s: %s", which, why->text);
	check->group_failures++;
}

/* An error that every later call would repeat? */
static bool
device_is_lost(void)
{
	cudaError_t error = cudaDeviceSynchronize();

	if (error == cudaSuccess || error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver)
		return false;
	printf("# the device is lost: %s\n", cudaGetErrorString(error));
	return true;
}

void
check_group_end(Check *check)
{
	bool passed = check->group_failures == 0;

	if (check->group_cases == 0)
	{
		check_group_skip(check, check->group, "no case");
		return;
	}
	check->groups++;
	printf("%s %d - %s (%llu cases)\n", passed ? "ok" : "not ok", check->groups, check->group,
		   (unsigned long long) check->group_cases);
	for (uint64_t i = 0; i < check->group_failures && i < CHECK_TOLD_FAILURES; i++)
		printf("#   %s\n", check->told[i]);
	if (check->group_failures > CHECK_TOLD_FAILURES)
		printf("#   and %llu more\n", (unsigned long long) check->group_failures - CHECK_TOLD_FAILURES);
	if (passed)
		check->passed++;
	else
	{
		check->failed++;
		check->device_lost = device_is_lost();
	}
	fflush(stdout);
}

void
check_group_skip(Check *check, const char *name, const char *reason)
{
	check->skipped++;
	printf("skipped: %s: %s\n", name, reason);
	fflush(stdout);
}

uint64_t
check_random(Check *check)
{
	return distribution_random(check->options.seed, check->random_state++, 0);
}

uint64_t
check_random_below(Check *check, uint64_t limit)
{
	return check_random(check) % limit;
}

double
check_now(void)
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static const char *const algorithm_names[] = {"auto", "sample", "bucket", "radix"};

const char *
algorithm_name(int algorithm)
{
	return algorithm_names[algorithm];
}

int
algorithm_by_name(const char *name)
{
	for (int i = 0; i < 4; i++)
	{
		if (strcmp(name, algorithm_names[i]) == 0)
			return i;
	}
	return -1;
}

bool
check_wants(const Check *check, int algorithm, int width, int distribution)
{
	const CheckOptions *options = &check->options;

	return (options->algorithm < 0 || algorithm < 0 || options->algorithm == algorithm) &&
		   (options->width == 0 || width == 0 || options->width == width) &&
		   (options->distribution < 0 || distribution < 0 || options->distribution == distribution);
}

size_t
device_free_bytes(void)
{
	size_t free_bytes;
	size_t total_bytes;

	if (cudaDeviceSynchronize() != cudaSuccess || cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess)
		return 0;
	return free_bytes;
}

bool
device_memory_is_back(size_t before, Why *why)
{
	size_t after = 0;

	for (int tries = 0; tries < 5; tries++)
	{
		after = device_free_bytes();
		if (after >= before && before > 0)
			return true;
		std::this_thread::sleep_for(std::chrono::milliseconds(100));
	}
	return why_say(why, "%zu bytes of device memory were free before, %zu are after", before, after);
}
