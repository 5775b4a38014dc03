/*
 * shared_job.cc
 *		The states of a job, and the calls of its device's job; shared_job.h says how they go together.
 */
#include <new>

#include "daemon/server/shared_job.h"

/* A chunk is refused when it has found no room so often, though others had made some. */
#define MOST_RAISES 3

/* A call of the device's job, in one state of the job. */
class SharedJob::Use
{
public:
	Use(SharedJob *used, State needed) : job(used)
	{
		std::lock_guard<std::mutex> lock(job->mutex);

		if (job->state == needed)
		{
			device_job = job->device_job.get();
			job->users++;
		}
		else
			why_not = job->failure.ok() ? Outcome{GPUSORTD_JOB_OVER, needed == State::sorted
																		 ? "the job is not sorted, or over"
																		 : "the job takes no more chunks"}
										: job->failure;
	}

	~Use()
	{
		std::lock_guard<std::mutex> lock(job->mutex);

		if (device_job == nullptr)
			return;
		job->last_used = std::chrono::steady_clock::now();
		if (--job->users == 0)
			job->unused.notify_all();
	}

	SharedJob *job;
	DeviceJob *device_job = nullptr; /* NULL: it is too late */
	Outcome why_not;
};

Outcome
SharedJob::begin(DeviceLayer *layer, const JobSize &expected, std::unique_ptr<Admission> its_admission)
{
	admission = std::move(its_admission);
	return layer->begin(admission->device_number(), shape, expected, admission.get(), &device_job);
}

void
SharedJob::describe(GpusortdJob *lent)
{
	std::lock_guard<std::mutex> lock(mutex);

	lent->job = id;
	lent->token = token;
	if (admission != nullptr)
	{
		lent->device = admission->device();
		lent->promised_bytes = admission->bytes();
	}
}

/*
 * If there is no memory for the chunk, those who rest make room for it.  A chunk that failed has spoiled the
 * job: that is noted while its call counts as under way, so that nobody begins to sort before.
 */
Outcome
SharedJob::submit(const FilledChunk &chunk)
{
	Use use(this, State::feeding);
	Outcome outcome;

	if (use.device_job == nullptr)
		return use.why_not;
	if (chunk.rows == 0)
		return outcome;
	outcome = use.device_job->submit(chunk);
	for (int i = 0; outcome.code == GPUSORTD_MEMORY_FULL && i < MOST_RAISES && admission->make_room(); i++)
		outcome = use.device_job->submit(chunk);
	if (!outcome.ok() && outcome.code != GPUSORTD_MEMORY_FULL)
	{
		std::lock_guard<std::mutex> lock(mutex);

		end_with(outcome);
	}
	return outcome;
}

/* Ends the feed, and waits for the chunks under way. */
void
SharedJob::go_on_to(State next)
{
	std::unique_lock<std::mutex> lock(mutex);

	if (state == State::feeding || state == State::ranking)
		state = next;
	unused.wait(lock, [this] { return users == 0; });
}

Outcome
SharedJob::take_ranks(const RankPiece &piece)
{
	go_on_to(State::ranking);

	Use use(this, State::ranking);
	Outcome outcome;

	if (use.device_job == nullptr)
		return use.why_not;
	outcome = use.device_job->take_ranks(piece);
	for (int i = 0; outcome.code == GPUSORTD_MEMORY_FULL && i < MOST_RAISES && admission->make_room(); i++)
		outcome = use.device_job->take_ranks(piece);
	return outcome;
}

Outcome
SharedJob::perform(GpusortdSorted *sorted)
{
	go_on_to(State::sorting);

	Use use(this, State::sorting);
	Outcome outcome = use.device_job != nullptr ? use.device_job->perform(sorted) : use.why_not;
	std::lock_guard<std::mutex> lock(mutex);

	if (outcome.ok() && state == State::sorting)
	{
		state = State::sorted;
		result_bytes = sorted->row_bytes;
		result_rows = sorted->rows;
	}
	return outcome;
}

Outcome
SharedJob::start_fetch(uint64_t position, bool backward, uint8_t *target, Window *window)
{
	Use use(this, State::sorted);
	Outcome outcome;

	if (use.device_job == nullptr)
		return use.why_not;
	outcome = use.device_job->start_fetch(position, backward, target, window);
	if (outcome.ok() && window->rows > 0)
	{
		std::lock_guard<std::mutex> lock(mutex);

		fetches++;
	}
	return outcome;
}

Outcome
SharedJob::finish_fetch(uint64_t ticket)
{
	Use use(this, State::sorted);
	Outcome outcome;

	if (use.device_job == nullptr)
		return use.why_not;
	outcome = use.device_job->finish_fetch(ticket);
	std::lock_guard<std::mutex> lock(mutex);

	fetches--;
	return outcome;
}

uint64_t
SharedJob::rows()
{
	std::lock_guard<std::mutex> lock(mutex);

	return result_rows;
}

/* ---- giving back ---- */

/* Under the lock. */
bool
SharedJob::is_idle(std::chrono::milliseconds unused_for) const
{
	return users == 0 && std::chrono::steady_clock::now() - last_used >= unused_for;
}

uint64_t
SharedJob::spare(std::chrono::milliseconds unused_for, const IdleMemory &idle)
{
	std::lock_guard<std::mutex> lock(mutex);
	uint64_t promised = admission->bytes();

	if (state == State::over)
		return promised;
	if (!is_idle(unused_for) || state == State::sorting)
		return 0;
	if (state == State::feeding || state == State::ranking)
		return promised - std::min(promised, device_job->least());
	return stays || (aside == nullptr && !idle.has_room(result_bytes)) ? 0 : promised;
}

Outcome
SharedJob::give_back(std::chrono::milliseconds unused_for, IdleMemory *idle,
					 const std::function<bool()> &interrupted)
{
	{
		std::unique_lock<std::mutex> lock(mutex);

		if (state == State::over)
		{
			close(&lock);
			admission->leave_device();
		}
		else if ((state == State::feeding || state == State::ranking) && is_idle(unused_for))
			device_job->trim();
		if (state != State::sorted || admission->bytes() == 0)
			return {};
	}
	try
	{
		return set_aside(idle, interrupted);
	}
	catch (const std::bad_alloc &)
	{
		std::lock_guard<std::mutex> lock(mutex);

		stays = true;
		aside.reset();
		idle_share.give_back();
		return {};
	}
}

/*
 * Copies the rest of the result; then lets go of the device's job, unless others fetch from it: then another
 * time.
 */
Outcome
SharedJob::set_aside(IdleMemory *idle, const std::function<bool()> &interrupted)
{
	bool all = false;

	{
		Use use(this, State::sorted);

		if (use.device_job == nullptr || !idle_share.take(idle, result_bytes))
			return {};
		if (aside == nullptr)
			aside = std::make_unique<HostResult>(shape);
		while (!all)
		{
			Outcome outcome;

			if (interrupted())
				return {};
			outcome = aside->take(use.device_job, &all);
			if (!outcome.ok())
				return outcome;
		}
	}

	std::lock_guard<std::mutex> lock(mutex);

	if (state == State::sorted && users == 0 && fetches == 0)
	{
		device_job = std::move(aside);
		admission->leave_device();
	}
	return {};
}

/* ---- the end ---- */

/* Under the lock.  The first failure counts. */
void
SharedJob::end_with(const Outcome &outcome)
{
	if (failure.ok() && state != State::over)
		failure = outcome;
	state = State::over;
}

/* Destroys the device's job, when nobody uses it any more. */
void
SharedJob::close(std::unique_lock<std::mutex> *lock)
{
	unused.wait(*lock, [this] { return users == 0; });
	device_job.reset();
	aside.reset();
	idle_share.give_back();
}

void
SharedJob::fail(const Outcome &outcome)
{
	std::unique_lock<std::mutex> lock(mutex);

	end_with(outcome);
	close(&lock);
}

std::unique_ptr<Admission>
SharedJob::end()
{
	std::unique_lock<std::mutex> lock(mutex);

	state = State::over;
	close(&lock);
	return std::move(admission);
}
