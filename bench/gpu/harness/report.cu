/*
 * report.cu
 *		Results as CSV and as lines.
 */
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstring>

#include "gpu/harness/bench.h"

static const char common_columns[] =
	"suite,card,driver,cuda,date,commit,algorithm,distribution,key_bytes,value_bytes,n,median_ms,min_ms,mkeys_per_s,gb_per_s,repeats";

DevSortStatus
report_open(Report *report, const Bench *bench, const char *suite, const char *name, const char *columns)
{
	char path[sizeof(bench->out) + 64];

	report->bench = bench;
	report->suite = suite;
	snprintf(path, sizeof(path), "%s/%s.csv", bench->out, name);
	report->file = fopen(path, "w");
	if (report->file == NULL)
		return status_make(DEVSORT_INVALID, "cannot write %s: %s", path, strerror(errno));
	fprintf(report->file, "%s%s%s\n", common_columns, *columns ? "," : "", columns);
	return status_ok();
}

/* A driver or runtime version as people write it. */
static void
print_version(FILE *file, int version)
{
	fprintf(file, "%d.%d,", version / 1000, version % 1000 / 10);
}

void
report_write(Report *report, const ReportRow *row, const char *format, ...)
{
	const Bench *bench = report->bench;
	double bytes = row->bytes == 0 ? 2.0 * row->n * (row->key_bytes + row->value_bytes) : fmax(row->bytes, 0);
	double seconds = row->median_ms / 1000;
	double mkeys = seconds > 0 ? row->n / seconds / 1e6 : 0;
	double gb = seconds > 0 ? bytes / seconds / 1e9 : 0;
	va_list arguments;

	fprintf(report->file, "%s,%s,", report->suite, bench->device.name);
	print_version(report->file, bench->device.driver_version);
	print_version(report->file, bench->device.runtime_version);
	fprintf(report->file, "%s,%s,%s,%s,%d,%d,%llu,%.5g,%.5g,%.5g,%.5g,%d", bench->date, bench->options.commit,
			row->algorithm, row->distribution, row->key_bytes, row->value_bytes, (unsigned long long) row->n,
			row->median_ms, row->min_ms, mkeys, gb, row->repeats);
	if (*format)
	{
		fputc(',', report->file);
		va_start(arguments, format);
		vfprintf(report->file, format, arguments);
		va_end(arguments);
	}
	fputc('\n', report->file);
	fflush(report->file);
	printf("%-8s %-24s %-24s %2d+%d %11llu %10.3f ms %8.0f Mkeys/s %7.0f GB/s\n", report->suite,
		   row->algorithm, row->distribution, row->key_bytes, row->value_bytes, (unsigned long long) row->n,
		   row->median_ms, mkeys, gb);
	fflush(stdout);
}

void
report_close(Report *report)
{
	if (report->file)
		fclose(report->file);
	report->file = NULL;
}
