/*
 * parallel.c
 *		Runs parallel sorts for cpu_sort, with processes and memory as the server has them.
 *
 * The chunks are copied to shared memory, where the sort's own memory is too.  This process is the first one;
 * a child that fails ends it, and the children end with it.
 */
#include "postgres.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include "cpu/cpu_sort.h"
#include "base/stopwatch.h"
#include "sort/tuning.h"

#define MAX_PROCESSES 64

/* At the start of the shared memory. */
typedef struct Shared
{
	pthread_barrier_t barrier;
	double cpu_ns[MAX_PROCESSES];
	Size peak[MAX_PROCESSES]; /* bytes of private memory */
	Size left[MAX_PROCESSES]; /* bytes that the sort did not give back */
} Shared;

static void
wait_for_others(void *arg)
{
	(void) pthread_barrier_wait(arg);
}

static void
child_ended(int signal)
{
	int status;

	while (waitpid(-1, &status, WNOHANG) > 0)
	{
		if (status != 0)
			_exit(1);
	}
}

static Size
shared_size(const ParallelSortInput *input, uint64 *nchunks)
{
	Size size = TYPEALIGN(4096, sizeof(Shared));

	*nchunks = 0;
	for (const Chunk *chunk = input->chunks; chunk != NULL; chunk = chunk->next)
	{
		size += sizeof(Chunk) + chunk->size;
		(*nchunks)++;
	}
	return size + parallel_sort_shared_size(input->variable, parallel_sort_item(input), input->nrows,
											*nchunks, input->nprocesses);
}

/* Copies the chunks to where *to is; the copy takes their place in the input. */
static void
share_chunks(ParallelSortInput *input, char **to)
{
	const Chunk **link = &input->chunks;

	while (*link != NULL)
	{
		Chunk *copy = (Chunk *) *to;

		*copy = **link;
		copy->base = *to + sizeof(Chunk);
		memcpy(copy->base, (*link)->base, copy->size);
		*to += sizeof(Chunk) + copy->size;
		*link = copy;
		link = (const Chunk **) &copy->next;
	}
}

static void
run_process(Shared *shared, ParallelSort *sort, int process)
{
	ParallelSortSync sync = {wait_for_others, &shared->barrier};
	Size before = live_bytes;
	double start;

	peak_bytes = live_bytes;
	wait_for_others(&shared->barrier);
	start = now_ns();
	parallel_sort_run(sort, process, &sync);
	shared->cpu_ns[process] = now_ns() - start;
	shared->peak[process] = peak_bytes - before;
	shared->left[process] = live_bytes - before;
	wait_for_others(&shared->barrier);
}

static void
run_processes(Shared *shared, ParallelSort *sort, int nprocesses)
{
	pthread_barrierattr_t attributes;

	signal(SIGCHLD, child_ended);
	pthread_barrierattr_init(&attributes);
	pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &attributes, nprocesses);
	fflush(stdout);
	for (int p = 1; p < nprocesses; p++)
	{
		pid_t pid = fork();

		if (pid < 0)
			fail("can't fork", "parallel", 0, 0);
		if (pid > 0)
			continue;
#ifdef __linux__
		prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
		signal(SIGCHLD, SIG_DFL);
		run_process(shared, sort, p);
		_exit(0);
	}
	run_process(shared, sort, 0);
	signal(SIGCHLD, SIG_DFL);
	while (wait(NULL) > 0)
		;
}

void
parallel_run(ParallelRun *run, const ParallelSortInput *original, const char *name)
{
	ParallelSortInput input = *original;
	uint64 nchunks;
	Size peak = 0;
	Stopwatch watch;
	Shared *shared;
	ParallelSort *sort;
	char *memory;

	run->size = shared_size(&input, &nchunks);
	run->shared =
		mmap(NULL, run->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (run->shared == MAP_FAILED)
		fail("no shared memory", name, input.nrows, input.squeeze.nwords);
#ifdef MADV_HUGEPAGE
	(void) madvise(run->shared, run->size, MADV_HUGEPAGE); /* as the server asks for them */
#endif
	shared = run->shared;
	memory = (char *) run->shared + TYPEALIGN(4096, sizeof(Shared));
	share_chunks(&input, &memory);
#ifdef MEMORY_SPOILED
	memset(memory, 0x7f, (char *) run->shared + run->size - memory);
#endif

	watch = stopwatch_start();
	sort = parallel_sort_init(memory, &input);
	run_processes(shared, sort, input.nprocesses);
	run->wall_ns = stopwatch_ms(watch) * 1e6;
	run->items = parallel_sort_items(sort);
	if (((char *) run->items - memory) % SORT_CACHE_LINE != 0)
		fail("items do not begin with a cache line", name, input.nrows, input.squeeze.nwords);
	run->cpu_ns = 0;
	for (int p = 0; p < input.nprocesses; p++)
	{
		run->cpu_ns = Max(run->cpu_ns, shared->cpu_ns[p]);
		peak += shared->peak[p];
		if (shared->left[p] != 0)
			fail("memory is left", name, input.nrows, input.squeeze.nwords);
	}
	if (peak >
		parallel_sort_private_size(input.variable, parallel_sort_item(&input), input.nrows, input.nprocesses))
		fail("more private memory than announced", name, input.nrows, input.squeeze.nwords);
}

void
parallel_run_free(ParallelRun *run)
{
	munmap(run->shared, run->size);
}

/* Prints what one process takes, and several. */
void
print_parallel(const char *name, const ParallelSortInput *input, const ParallelRun *one,
			   const ParallelRun *many)
{
	double n = Max(input->nrows, 1);

	printf(
		"%-32s clock: 1 process %6.1f ns/row, %d processes %6.1f; processor: 1 process %6.1f, the slowest of %d %6.1f, %.2f times\n",
		name, one->wall_ns / n, input->nprocesses, many->wall_ns / n, one->cpu_ns / n, input->nprocesses,
		many->cpu_ns / n, one->cpu_ns / many->cpu_ns);
	fflush(stdout);
}
