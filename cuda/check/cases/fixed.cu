/*
 * fixed.cu
 *		One sort of fixed keys, from making the keys to the proof that the result is right.
 */
#include <cstdio>
#include <cstdlib>

#include "check/cases/fixed.h"

#define THREADS 256

static __global__ void
payload_fill_kernel(uint32_t *payloads, uint64_t n, PayloadRule rule)
{
	uint64_t i = (uint64_t) blockIdx.x * THREADS + threadIdx.x;

	if (i < n)
		payloads[i] = (uint32_t) i * rule.multiplier + rule.offset;
}

static bool
fill_payloads(FixedRunner *runner, Why *why)
{
	uint64_t n = runner->fixed.n;

	if (n == 0 || runner->job.indexes == NULL)
		return true;
	payload_fill_kernel<<<(unsigned int) ((n + THREADS - 1) / THREADS), THREADS, 0, runner->guarded.stream>>>(
		runner->job.indexes, n, runner->rule);
	return why_cuda(why, cudaGetLastError(), "making payloads");
}

/* Room on the host for the keys, the sorted keys and the sorted payloads. */
static bool
reserve_host(FixedRunner *runner, Why *why)
{
	size_t bytes = runner->fixed.n * (2 * (size_t) runner->fixed.key_bytes + sizeof(uint32_t)) + 1;

	if (bytes <= runner->host_bytes)
		return true;
	free(runner->host);
	runner->host = (char *) malloc(bytes);
	runner->host_bytes = runner->host ? bytes : 0;
	return runner->host || why_say(why, "no host memory for the proof");
}

/* Asks for the workspace and lays out the buffers. */
static bool
open_buffers(FixedRunner *runner, Why *why)
{
	const FixedCase *fixed = &runner->fixed;
	DevSortFixedJob *job = &runner->job;
	size_t key_bytes = fixed->n * (size_t) fixed->key_bytes;
	size_t index_bytes = fixed->n * sizeof(uint32_t);
	void *any = (void *) 4096;

	job->keys = any;
	job->sorted_keys = any;
	job->indexes = fixed->payload == PAYLOAD_GIVEN ? (uint32_t *) any : NULL;
	job->sorted_indexes = fixed->payload == PAYLOAD_NONE ? NULL : (uint32_t *) any;
	if (!why_status(why, devsort_fixed_memory(job, &runner->workspace_bytes), "devsort_fixed_memory"))
		return false;

	guarded_reset(&runner->guarded, fixed->seed);
	guarded_add(&runner->guarded, key_bytes);
	guarded_add(&runner->guarded, key_bytes);
	guarded_add(&runner->guarded, runner->workspace_bytes);
	guarded_add(&runner->guarded, job->indexes ? index_bytes : 0);
	guarded_add(&runner->guarded, job->sorted_indexes ? index_bytes : 0);
	if (!guarded_open(&runner->guarded, why))
		return false;
	job->keys = guarded_piece(&runner->guarded, 0);
	job->sorted_keys = guarded_piece(&runner->guarded, 1);
	runner->workspace = guarded_piece(&runner->guarded, 2);
	if (job->indexes)
		job->indexes = (uint32_t *) guarded_piece(&runner->guarded, 3);
	if (job->sorted_indexes)
		job->sorted_indexes = (uint32_t *) guarded_piece(&runner->guarded, 4);
	return true;
}

bool
fixed_prepare(FixedRunner *runner, const FixedCase *fixed, Why *why)
{
	DevSortFixedJob job = {};
	cudaStream_t stream = runner->guarded.stream;

	job.algorithm = fixed->algorithm;
	job.format = fixed->format;
	job.key_bytes = fixed->key_bytes;
	job.n = fixed->n;
	job.seed = fixed->seed;
	job.samples = fixed->samples;
	runner->fixed = *fixed;
	runner->job = job;
	runner->rule.multiplier =
		fixed->payload == PAYLOAD_GIVEN ? (uint32_t) (fixed->seed * 2654435761u) | 1 : 1;
	runner->rule.offset = fixed->payload == PAYLOAD_GIVEN ? (uint32_t) (fixed->seed >> 16) : 0;
	if (!open_buffers(runner, why) || !reserve_host(runner, why) || !fill_payloads(runner, why))
		return false;
	if (!why_status(why,
					distribution_fill(fixed->distribution, fixed->seed, fixed->n, fixed->key_bytes,
									  fixed->format, runner->job.keys, stream),
					"distribution_fill"))
		return false;
	return why_cuda(why,
					cudaMemcpyAsync(runner->host, runner->job.keys, fixed->n * fixed->key_bytes,
									cudaMemcpyDeviceToHost, stream),
					"copying the keys") &&
		   why_cuda(why, cudaStreamSynchronize(stream), "making the keys");
}

DevSortStatus
fixed_sort(FixedRunner *runner)
{
	return devsort_fixed(&runner->job, runner->workspace, runner->workspace_bytes, runner->guarded.stream);
}

bool
fixed_prove(FixedRunner *runner, Why *why)
{
	const FixedCase *fixed = &runner->fixed;
	size_t key_bytes = fixed->n * (size_t) fixed->key_bytes;
	uint32_t *payloads = (uint32_t *) (runner->host + 2 * key_bytes);
	FixedResult result = {fixed->format,
						  fixed->key_bytes,
						  fixed->n,
						  runner->host,
						  runner->host + key_bytes,
						  runner->job.sorted_indexes ? payloads : NULL,
						  runner->rule};

	if (!guarded_intact(&runner->guarded, why))
		return false;
	if (fixed->n == 0)
		return true;
	if (!why_cuda(why,
				  cudaMemcpy(runner->host + key_bytes, runner->job.sorted_keys, key_bytes,
							 cudaMemcpyDeviceToHost),
				  "copying the sorted keys"))
		return false;
	if (runner->job.sorted_indexes &&
		!why_cuda(why,
				  cudaMemcpy(payloads, runner->job.sorted_indexes, fixed->n * sizeof(uint32_t),
							 cudaMemcpyDeviceToHost),
				  "copying the sorted payloads"))
		return false;
	return oracle_check_fixed(&result, why);
}

bool
fixed_run(FixedRunner *runner, const FixedCase *fixed, Why *why)
{
	return fixed_prepare(runner, fixed, why) && why_status(why, fixed_sort(runner), "devsort_fixed") &&
		   fixed_prove(runner, why);
}

void
fixed_release(FixedRunner *runner)
{
	guarded_release(&runner->guarded);
	free(runner->host);
	runner->host = NULL;
	runner->host_bytes = 0;
}

FixedName
fixed_name(const FixedCase *fixed)
{
	static const char *const payloads[] = {"payloads given", "implicit payloads", "keys alone"};
	FixedName name;

	snprintf(name.text, sizeof(name.text),
			 "--algorithm %s --width %d --distribution %s --n %llu --seed %llu fixed (%s, %s, s %d)",
			 algorithm_name(fixed->algorithm), fixed->key_bytes, distribution_name(fixed->distribution),
			 (unsigned long long) fixed->n, (unsigned long long) fixed->seed, payloads[fixed->payload],
			 fixed->format == DEVSORT_KEY_BYTES ? "bytes" : "words", fixed->samples);
	return name;
}

void
fixed_check(Check *check, FixedRunner *runner, const FixedCase *fixed)
{
	Why why = {};

	check_case(check, fixed_run(runner, fixed, &why), &why, "%s", fixed_name(fixed).text);
}
