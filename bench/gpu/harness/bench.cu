/*
 * bench.cu
 *		The device, the pool, timing.
 */
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <sys/stat.h>

#include "gpu/harness/bench.h"

/* More than the L2 cache of any card has. */
#define FLUSH_BYTES ((size_t) 128 << 20)

/* The copy that times are compared with, and how many of them. */
#define COPY_BYTES ((size_t) 1 << 30)
#define COPY_REPEATS 9

/* Left to the driver and to the library's own small needs. */
#define MARGIN_BYTES ((size_t) 768 << 20)

/* Makes a directory and those above it. */
static DevSortStatus
make_directory(const char *path)
{
	char prefix[512];

	for (size_t i = 1; i <= strlen(path) && i < sizeof(prefix); i++)
	{
		if (path[i] != '/' && path[i] != '\0')
			continue;
		snprintf(prefix, sizeof(prefix), "%.*s", (int) i, path);
		if (mkdir(prefix, 0777) != 0 && errno != EEXIST)
			return status_make(DEVSORT_INVALID, "cannot make the directory %s: %s", prefix, strerror(errno));
	}
	return status_ok();
}

/* bench/results/gpu-CARD-DATE, the card in small letters and dashes. */
static void
name_directory(Bench *bench)
{
	char slug[sizeof(bench->device.name)];
	size_t length = 0;

	for (const char *c = bench->device.name; *c; c++)
	{
		if (isalnum((unsigned char) *c))
			slug[length++] = (char) tolower((unsigned char) *c);
		else if (length > 0 && slug[length - 1] != '-')
			slug[length++] = '-';
	}
	while (length > 0 && slug[length - 1] == '-')
		length--;
	slug[length] = '\0';
	snprintf(bench->out, sizeof(bench->out), "bench/results/gpu-%s-%s", slug, bench->date);
}

DevSortStatus
bench_open(Bench *bench, const Options *options)
{
	time_t now = time(NULL);
	struct tm utc;
	int count;

	memset(bench, 0, sizeof(*bench));
	bench->options = *options;
	RETURN_IF_FAILED(devsort_device_count(&count));
	if (options->device >= count)
		return status_make(DEVSORT_INVALID, "there is no device %d: %d found", options->device, count);
	RETURN_IF_FAILED(devsort_device_describe(options->device, &bench->device));
	CHECK_CUDA(cudaSetDevice(options->device), "choosing the device");
	gmtime_r(&now, &utc);
	strftime(bench->date, sizeof(bench->date), "%Y-%m-%d", &utc);
	if (options->out)
		snprintf(bench->out, sizeof(bench->out), "%s", options->out);
	else
		name_directory(bench);
	RETURN_IF_FAILED(make_directory(bench->out));
	CHECK_CUDA(cudaStreamCreateWithFlags(&bench->stream, cudaStreamNonBlocking), "creating a stream");
	CHECK_CUDA(cudaEventCreate(&bench->begin), "creating an event");
	CHECK_CUDA(cudaEventCreate(&bench->end), "creating an event");
	CHECK_CUDA_MEMORY(cudaMalloc(&bench->flush, FLUSH_BYTES), "allocating what empties the cache");
	return status_ok();
}

void
bench_close(Bench *bench)
{
	cudaFree(bench->pool);
	cudaFree(bench->flush);
	if (bench->begin)
		cudaEventDestroy(bench->begin);
	if (bench->end)
		cudaEventDestroy(bench->end);
	if (bench->stream)
		cudaStreamDestroy(bench->stream);
}

size_t
bench_available(const Bench *bench)
{
	size_t free_bytes = 0;
	size_t total_bytes;

	if (cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess)
		return 0;
	free_bytes += bench->pool_bytes;
	return free_bytes > MARGIN_BYTES ? free_bytes - MARGIN_BYTES : 0;
}

DevSortStatus
bench_reserve(Bench *bench, size_t bytes)
{
	if (bench->pool_bytes >= bytes)
		return status_ok();
	CHECK_CUDA(cudaStreamSynchronize(bench->stream), "waiting for the last suite");
	CHECK_CUDA(cudaFree(bench->pool), "freeing the pool");
	bench->pool = NULL;
	bench->pool_bytes = 0;
	CHECK_CUDA_MEMORY(cudaMalloc(&bench->pool, bytes), "allocating the pool");
	bench->pool_bytes = bytes;
	return status_ok();
}

uint64_t
bench_seed(Bench *bench)
{
	return bench->options.seed + ++bench->seeds * UINT64_C(0x9E3779B97F4A7C15);
}

int
bench_repeats(const Bench *bench, uint64_t n)
{
	int repeats = bench->options.repeat;

	if (n <= UINT64_C(1) << 22 && !bench->options.quick)
		repeats = 2 * repeats - 1;
	return std::min(repeats, BENCH_MAX_REPEATS);
}

void
bench_fail(Bench *bench, const DevSortStatus *status, const char *format, ...)
{
	va_list arguments;

	bench->failures++;
	fflush(stdout);
	fprintf(stderr, "gpubench: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, ": %s\n", status->message);
	(void) cudaGetLastError();
	if (status->code == DEVSORT_DEVICE_FAILED && cudaDeviceSynchronize() != cudaSuccess)
	{
		fprintf(stderr, "gpubench: the device does nothing more after this\n");
		exit(1);
	}
}

DevSortStatus
bench_flush(Bench *bench, size_t bytes)
{
	if (bytes > 2 * FLUSH_BYTES)
		return status_ok();
	CHECK_CUDA(cudaMemsetAsync(bench->flush, 0, FLUSH_BYTES, bench->stream), "emptying the cache");
	return status_ok();
}

DevSortStatus
bench_time(Bench *bench, BenchWork work, void *arg, Times *times)
{
	float ms;

	CHECK_CUDA(cudaEventRecord(bench->begin, bench->stream), "recording an event");
	RETURN_IF_FAILED(work(arg, bench->stream));
	CHECK_CUDA(cudaEventRecord(bench->end, bench->stream), "recording an event");
	CHECK_CUDA(cudaEventSynchronize(bench->end), "waiting for the timed work");
	CHECK_CUDA(cudaEventElapsedTime(&ms, bench->begin, bench->end), "reading the time");
	if (times->count < BENCH_MAX_REPEATS)
		times->ms[times->count++] = ms;
	return status_ok();
}

double
times_median(const Times *times)
{
	float sorted[BENCH_MAX_REPEATS];
	int half = times->count / 2;

	if (times->count == 0)
		return 0;
	std::copy(times->ms, times->ms + times->count, sorted);
	std::sort(sorted, sorted + times->count);
	return times->count % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2.0;
}

double
times_min(const Times *times)
{
	return times->count ? *std::min_element(times->ms, times->ms + times->count) : 0;
}

typedef struct CopyWork
{
	char *from;
	char *to;
	size_t bytes;
} CopyWork;

static DevSortStatus
copy_work(void *arg, cudaStream_t stream)
{
	CopyWork *work = (CopyWork *) arg;

	CHECK_CUDA(cudaMemcpyAsync(work->to, work->from, work->bytes, cudaMemcpyDeviceToDevice, stream),
			   "copying on the device");
	return status_ok();
}

DevSortStatus
bench_time_copy(Bench *bench, Times *times, double *bytes)
{
	size_t half = std::min(COPY_BYTES, bench->pool_bytes / 2);
	CopyWork work = {bench->pool, bench->pool + half, half};
	Times warm_up = {};

	*bytes = 2.0 * half;
	RETURN_IF_FAILED(bench_time(bench, copy_work, &work, &warm_up));
	for (int repeat = 0; repeat < COPY_REPEATS; repeat++)
		RETURN_IF_FAILED(bench_time(bench, copy_work, &work, times));
	return status_ok();
}
