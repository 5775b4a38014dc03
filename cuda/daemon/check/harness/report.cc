/*
 * report.cc
 *		The report of daemoncheck and layercheck.
 */
#include "daemon/check/harness/report.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>

static std::mutex report_mutex;
static int passed_count = 0;
static int failed_count = 0;

bool
check(bool passed, const char *what, ...)
{
	std::lock_guard<std::mutex> lock(report_mutex);
	va_list arguments;

	passed_count += passed;
	failed_count += !passed;
	printf("%s %d - ", passed ? "ok" : "not ok", passed_count + failed_count);
	va_start(arguments, what);
	vprintf(what, arguments);
	va_end(arguments);
	printf("\n");
	fflush(stdout);
	return passed;
}

void
note(const char *format, ...)
{
	std::lock_guard<std::mutex> lock(report_mutex);
	va_list arguments;

	printf("#   ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	fflush(stdout);
}

int
report_end()
{
	printf("# %d passed, %d failed\n", passed_count, failed_count);
	return failed_count == 0 && passed_count > 0 ? 0 : 1;
}
