/*
 * check.h
 *		Testing the CUDA layer by itself: jobs with known answers, and what is left of them.
 */
#ifndef LAYER_CHECK_H
#define LAYER_CHECK_H

#include <random>

#include "daemon/check/harness/report.h"
#include "daemon/device/layer.h"

#define CHUNK_BYTES (UINT64_C(64) << 10)

/* Has everything been given back, once no layer is left?  Says what was not. */
bool nothing_is_held();

/* ---- jobs ---- */

/* A promise of at_first bytes, which can be raised to at_most. */
class Promise : public MemoryPromise
{
public:
	explicit Promise(uint64_t at_first, uint64_t at_most) : share(at_first), most(at_most)
	{
	}

	uint64_t bytes() const override
	{
		return share;
	}

	bool raise(uint64_t bytes) override
	{
		if (bytes > most)
			return false;
		share = std::max(share, bytes);
		return true;
	}

	void lower(uint64_t bytes) override
	{
		share = std::min(share, bytes);
	}

private:
	uint64_t share;
	uint64_t most;
};

/* The shapes of jobs: fixed keys of all widths, with rows and with words, and variable keys with both. */
std::vector<JobShape> all_shapes();
std::string describe(const JobShape &shape);

/* The layer, with all devices open; NULL, and a failed test, if it can't be opened. */
std::unique_ptr<DeviceLayer> open_layer();

/* Rows that were numbered from 0, in chunks with a limited number of rows. */
struct JobRows
{
	JobShape shape;
	uint64_t rows;
	uint64_t most_of_chunk;
	bool rests = false; /* after each chunk the job gives back what it can, and then no chunk is refused */
	bool coded = false; /* do the keys begin with codes, which become ranks? */
};

/* The size that BEGIN would tell for these rows. */
JobSize size_of(const JobRows &rows);

/*
 * A job from its begin to its end: the first failure, which is none if the layer refuses chunks for want of
 * memory and goes on.  *why says what is wrong with the result, and is empty if nothing is.
 */
Outcome run_job(DeviceLayer *layer, const JobRows &rows, const JobSize &expected, MemoryPromise *promise,
				std::string *why);

/* The same by several threads, each with chunks of its own. */
Outcome run_job_in_threads(DeviceLayer *layer, const JobRows &rows, int threads, MemoryPromise *promise,
						   std::string *why);

/* Does such a job come out right, with as much memory as there is? */
bool still_sorts(DeviceLayer *layer, const JobShape &shape);

/* ---- the tests ---- */

void check_devices();
void check_faults();
void check_promises(std::mt19937_64 *random);

#endif /* LAYER_CHECK_H */
