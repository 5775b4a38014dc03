/*
 * promises.cc
 *		What is promised to a job is enough for it, and for any that turns out smaller.
 */
#include "daemon/check/layer/check.h"
#include "daemon/fake/fake_cuda.h"

#define ROUNDS 20
#define MOST_ROWS 60000

/* A job that is promised what more rows would need, and gets no more, after rests either. */
static bool
smaller_job_fits(DeviceLayer *layer, const JobShape &shape, bool rests, std::mt19937_64 *random)
{
	JobRows planned = {shape, 1 + (*random)() % MOST_ROWS, UINT64_MAX};
	JobRows fed = {shape, 1 + (*random)() % planned.rows, UINT64_MAX, rests,
				   shape.key_bytes > 0 && (*random)() % 2 == 0};
	JobSize expected = size_of(planned);
	uint64_t bytes = layer->memory_needed(shape, expected);
	Promise promise(bytes, bytes);
	std::string why;
	Outcome outcome = run_job(layer, fed, expected, &promise, &why);

	if (!outcome.ok() || !why.empty())
		note("%llu rows planned, %llu fed: %s %s", (unsigned long long) planned.rows,
			 (unsigned long long) fed.rows, outcome.message.c_str(), why.c_str());
	return outcome.ok() && why.empty();
}

static void
check_smaller_jobs(const JobShape &shape, bool rests, std::mt19937_64 *random)
{
	std::unique_ptr<DeviceLayer> layer = open_layer();
	int rounds = 0;

	while (layer != nullptr && rounds < ROUNDS && smaller_job_fits(layer.get(), shape, rests, random))
		rounds++;
	layer.reset();
	check(rounds == ROUNDS && nothing_is_held(), "%s: %d jobs smaller than planned fit%s",
		  describe(shape).c_str(), rounds, rests ? ", and rest" : "");
}

/*
 * A job whose keys, rows and offsets fill pages to the last byte, but for the offset that ends the last row.
 */
static void
check_full_pages(const JobShape &shape)
{
	JobRows rows = {shape, FAKE_PAGE / sizeof(uint64_t), UINT64_MAX};
	std::unique_ptr<DeviceLayer> layer = open_layer();
	JobSize expected = size_of(rows);
	uint64_t bytes = layer != nullptr ? layer->memory_needed(shape, expected) : 0;
	Promise promise(bytes, bytes);
	std::string why;
	bool right = layer != nullptr && run_job(layer.get(), rows, expected, &promise, &why).ok() && why.empty();

	layer.reset();
	check(right && nothing_is_held(), "%s: arrays that fill pages %s", describe(shape).c_str(), why.c_str());
}

/* A job that turns out much smaller than it expected: sorted, it is promised no more than it holds. */
static void
check_lowered(const JobShape &shape)
{
	JobRows rows = {shape, 1000, UINT64_MAX};
	std::unique_ptr<DeviceLayer> layer = open_layer();
	JobSize expected = size_of(rows);
	std::string why;

	expected.rows *= 1000;
	expected.key_bytes *= 1000;
	expected.row_bytes *= 1000;
	uint64_t bytes = layer != nullptr ? layer->memory_needed(shape, expected) : 0;
	Promise promise(bytes, bytes);
	bool right = layer != nullptr && run_job(layer.get(), rows, expected, &promise, &why).ok() && why.empty();

	check(right && promise.bytes() <= fake_holdings().bytes, "%s: a sorted job is promised what it holds %s",
		  describe(shape).c_str(), why.c_str());
}

void
check_promises(std::mt19937_64 *random)
{
	for (const JobShape &shape : all_shapes())
	{
		for (bool rests : {false, true})
			check_smaller_jobs(shape, rests, random);
		check_full_pages(shape);
		check_lowered(shape);
	}
}
