/*
 * device/cuda/turns.c
 *		Parts of a sort that a GPU has no room for at once: they take turns on it.
 *
 * README.md tells of turns.  Each row is written and read once at most, as it is, and nothing is merged,
 * unless a part is too large for its turn (spill.c).  turn_change.c has the parts sorted.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/limits.h"
#include "device/cuda/turns.h"

/*
 * Of the sort's memory, besides what rows wait in: buffers of all processes, to write the others; merging of
 * a part that is too large, or sorting by the cpu device.
 */
#define BUFFERS_SHARE 0.25
#define TURN_MEMORY_SHARE 0.25

/* If buffers would be smaller than that, rows don't wait. */
#define BUFFER_MIN ((Size) 8 * 1024)

StaticAssertDecl(GPU_TURNS_MAX == SPLIT_PARTS_MAX, "a turn for each part");

/* ---------------------------------------------------------------- how many parts */

/* So many rows the GPU is expected to have room for; 0: not known. */
static double
rows_with_room(const SortRequest *request)
{
	return cuda_most_memory() / gpu_row_memory(request->expected.row_bytes, request->expected.key_bytes);
}

int
turns_count(const SortRequest *request)
{
	bool read_once =
		request->rows.wanted == 0 && !request->processes.read_jointly && !request->rows.random_access;

	/* the splitters tell later how large the largest part is */
	return gpu_turns(request->expected.kept, rows_with_room(request), 0, read_once, request->processes.help);
}

/* Bytes that each process may have of a buffer for each part. */
static Size
buffer_size(const SortRequest *request, int parts)
{
	return request->memory.limit * BUFFERS_SHARE / (request->processes.n * parts);
}

bool
turns_choose(SortSplitters *splitters, const SortRequest *request)
{
	int parts = request->expected.sample != NULL ? turns_count(request) : 1;
	double share = request->processes.help ? gpu_turn_share(true) : 1;
	double with_room = share * rows_with_room(request) / request->expected.kept;
	double largest = 1;

	for (; parts > 1 && parts <= GPU_TURNS_MAX; parts++)
	{
		largest = splitters_choose(splitters, request->expected.sample, parts);
		if (largest <= with_room)
			break;
	}
	return largest <= GPU_LARGEST_PART && buffer_size(request, splitters->n + 1) >= BUFFER_MIN;
}

/* ---------------------------------------------------------------- beginning */

static const SortDevice turns_device;

static TurnsSorter *
create_sorter(const SortSplitters *splitters, SortShare *share, const struct SortKey *key)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "GpuSort cuda parts", ALLOCSET_DEFAULT_SIZES);
	TurnsSorter *sorter = MemoryContextAllocZero(context, sizeof(TurnsSorter));

	sorter->base.device = &turns_device;
	sorter->base.splitters = &sorter->splitters;
	sorter->base.share = share;
	sorter->base.process = -1;
	sorter->base.read_once = true; /* parts are gone when they were read */
	sorter->splitters = *splitters;
	sorter->context = context;
	MemoryContextSwitchTo(context);
	sorter->card = cuda_card_create(&sorter->base, key);
	sorter->card->replaceable = false;
	sorter->sorter = &sorter->card->base;
	return sorter;
}

/* Rows go to the card, as far as they are of the first part and it has room; the others wait. */
static void
begin_waiting(TurnsSorter *sorter, WaitingShare *waiting, int writer)
{
	const SortShare *share = sorter->base.share;

	waiting_open(&sorter->waiting, waiting, share != NULL ? &turns_share(sorter)->base.base.arena : NULL,
				 sorter->card->key, writer);
	cuda_set_next_place(sorter->card, &sorter->waiting.held);
	sorter->base.places = &sorter->card->place;
}

/* What is asked for with a part of the rows, which takes turns with others: not the memory to wait in. */
static SortRequest
request_of_part(const SortRequest *request, int parts)
{
	SortRequest part = *request;
	Size memory = request->memory.of_each > 0 ? request->memory.of_each : request->memory.limit;

	part.expected.kept /= parts;
	part.memory.limit = memory * TURN_MEMORY_SHARE;
	part.memory.of_each = 0;
	/* rows are dropped before they are known to be of a part */
	part.memory.groups = 0;
	part.rows.first.n = 0;
	return part;
}

/* Bytes of memory in which rows wait. */
static Size
waiting_room(const SortRequest *request)
{
	return request->memory.limit * GPU_WAITING_SHARE;
}

/* Makes what other processes need to feed all parts. */
static void
create_share(TurnsSorter *sorter, const SortRequest *request)
{
	TurnsShare *share = cuda_share_create(sorter->card, sizeof(TurnsShare),
										  waiting_room(request) + sizeof(GroupBound) + request->memory.groups,
										  request->processes.n);

	if (share == NULL)
		return;
	share->base.nparts = turns_parts(sorter);
	share->splitters = sorter->splitters;
}

Sorter *
turns_begin(const SortRequest *request, const SortSplitters *splitters)
{
	MemoryContext old = CurrentMemoryContext;
	TurnsSorter *sorter = create_sorter(splitters, NULL, request->key);
	SortRequest of_part = request_of_part(request, turns_parts(sorter));

	sorter->process_memory = request->memory.of_each;
	(void) cuda_begin(sorter->card, &of_part);
	if (sorter->base.failure == NULL && request->processes.share)
		create_share(sorter, request);
	if (sorter->base.failure == NULL)
	{
		WaitingShare *waiting = sorter->base.share != NULL ? &turns_share(sorter)->waiting : &sorter->own;

		waiting_create(waiting,
					   Min(sorter->card->client.job.chunk_bytes, buffer_size(request, turns_parts(sorter))),
					   waiting_room(request));
		begin_waiting(sorter, waiting, 0);
		sorter->base.groups = sort_share_create_groups(sorter->base.share, request, request->key);
	}
	MemoryContextSwitchTo(old);
	return &sorter->base;
}

Sorter *
turns_join(CudaShare *share, const struct SortKey *key, int process)
{
	TurnsShare *turns = (TurnsShare *) share;
	MemoryContext old = CurrentMemoryContext;
	TurnsSorter *sorter = create_sorter(&turns->splitters, &share->base, key);

	sorter->base.groups = share->base.groups;
	cuda_enter_job(sorter->card, share);
	begin_waiting(sorter, &turns->waiting, process + 1);
	MemoryContextSwitchTo(old);
	return &sorter->base;
}

/* ---------------------------------------------------------------- feeding */

static bool
turns_enter(Sorter *base, int processes)
{
	TurnsSorter *sorter = (TurnsSorter *) base;
	TurnsShare *share = turns_share(sorter);
	bool entered = sorter_enter(base, processes);

	if (sorter->process_memory > 0)
		waiting_limit_room(&sorter->waiting, sorter->process_memory * processes * GPU_WAITING_SHARE);
	if (share != NULL && sorter->card->request.processes.help && share->help.state == TURN_HELP_UNWANTED)
		share->help.state = TURN_HELP_WANTED;
	return entered;
}

static void
turns_finish_feed(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	cuda_end_feed(sorter->card);
	waiting_end_feed(&sorter->waiting);
	sorter_note_fed(base);
	base->process = -1;
}

/* ---------------------------------------------------------------- rows */

static bool
turns_sort(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	if (cuda_share_is_alive(sorter->card))
	{
		sort_share_check_all_fed(base->share);
		turns_sort_first(sorter);
	}
	return base->failure == NULL;
}

static MinimalTuple
turns_next(Sorter *base, bool forward)
{
	TurnsSorter *sorter = (TurnsSorter *) base;
	MinimalTuple row;

	if (unlikely(!forward))
		elog(ERROR, "gpusort: a sort whose parts take turns is read backwards");
	while (unlikely((row = sorter_next(sorter->sorter, true)) == NULL))
	{
		if (base->failure != NULL || !turns_sort_next(sorter))
			break;
	}
	sorter_take_rows_at_hand(base, sorter->sorter);
	return row;
}

/* ---------------------------------------------------------------- statistics, end */

/* Rows of the first part went to the GPU, some of which had to wait; those of the others waited all. */
static void
add_waited(const TurnsSorter *sorter, SorterStats *stats)
{
	const WaitingShare *waiting = sorter->waiting.share;

	if (waiting == NULL)
		return;
	stats->turns = turns_parts(sorter);
	stats->rows = sorter->first_rows;
	stats->bytes = sorter->first_bytes;
	for (int i = 0; i < stats->turns; i++)
	{
		const WaitingPart *part = &waiting->parts[i];

		stats->rows += i > 0 ? part->rows : 0;
		stats->bytes += i > 0 ? part->key_bytes + part->row_bytes : 0;
		stats->waited_rows += part->rows;
		stats->waited_disk_bytes += part->file_bytes;
	}
	stats->waited_disk_bytes += waiting->parts[WAITING_AGAIN].file_bytes;
	if (stats->runs > 0)
		stats->method = "external merge";
	stats->disk_bytes += stats->waited_disk_bytes;
	stats->spill_ms += sorter->waiting.write_ms;
	stats->peak_memory += waiting->most_held + sorter->waiting.most_buffered;
}

static void
turns_get_stats(const Sorter *base, SorterStats *stats)
{
	const TurnsSorter *sorter = (const TurnsSorter *) base;

	cuda_get_stats(sorter->card, base->share, stats);
	if (sorter->second != NULL)
		sorter_stats_add_all(stats, &sorter->second->stats);
	sorter_stats_add_all(stats, &sorter->ended);
	add_waited(sorter, stats);
	sorter_get_groups(base, stats);
}

static void
turns_end(Sorter *base)
{
	TurnsSorter *sorter = (TurnsSorter *) base;

	if (sort_share_is_own(base->share))
	{
		/* they may be sending ahead, of files that go now */
		turn_help_dismiss(base);
		turn_help_end(sorter);
	}
	/* after a failure files may be open that nobody has finished */
	waiting_finish(&sorter->waiting);
	if (sorter->sorter->device == &sort_device_cpu)
		sort_device_cpu.end(sorter->sorter);
	if (sorter->second != NULL)
		cuda_end(sorter->second);
	if (sort_share_is_joined(base->share))
		sorter_note_fed(base);
	cuda_end(sorter->card);
	if (sort_share_is_own(base->share))
		arena_end(&base->share->arena);
	MemoryContextDelete(sorter->context);
}

/* Of a sorter that turns_begin or turns_join has made. */
static const SortDevice turns_device = {
	.kind = DEVICE_CUDA,
	.properties = CUDA_PROPERTIES,
	.count_parts = turns_count,
	.enter = turns_enter,
	.end_coding = sorter_never_coded,
	.finish_feed = turns_finish_feed,
	.sort = turns_sort,
	.sort_together = sorter_can_not,
	.help = turn_help,
	.dismiss = turn_help_dismiss,
	.next = turns_next,
	.count_keys = sorter_cannot_count,
	.seek_range = sorter_seek_range,
	.pass_range_end = sorter_pass_range_end,
	.get_stats = turns_get_stats,
	.end = turns_end,
};
