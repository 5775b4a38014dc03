/*
 * idle.cc
 *		Jobs whose clients want nothing for a while: what others need they give back, and lose nothing.
 */
#include <chrono>
#include <list>
#include <thread>

#include "daemon/check/harness/check.h"

#define MIB (UINT64_C(1) << 20)

/* Rows of about 3 MB, of which a window of a test's chunk is a small part. */
static const JobCase result_case = {8, 0, 40000, 100, 20, 8};

static void
sleep_ms(int ms)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

static GpusortdWelcome
look(const Daemon &daemon)
{
	GpusortdClient client;

	(void) gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr);
	gpusortd_close(&client);
	return client.welcome;
}

/* Feeds and sorts; nothing is fetched. */
static bool
sort_rows(GpusortdClient *client, const Daemon &daemon, const JobRows &rows, Random *random)
{
	GpusortdBegin begin = rows.begin();

	return gpusortd_connect(client, daemon.socket_path.c_str(), nullptr, nullptr) &&
		   gpusortd_begin(client, &begin) && feed(client, rows, 0, rows.job.rows, random) &&
		   gpusortd_perform(client);
}

/* Longer than it takes a job to rest. */
static void
wait_until_it_rests()
{
	sleep_ms(300);
}

/* A job that finds no room when it wants more: a result that nobody fetches leaves the device for it. */
static void
check_result_leaves(const JobCase &job, Random *random)
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "7M"});
	JobRows rows(job, random);
	JobRows more(job, random);
	GpusortdClient idle;
	GpusortdClient next;
	std::string why;
	bool ok = sort_rows(&idle, daemon, rows, random);

	check(ok && look(daemon).idle_bytes == 0, "%s: a result of which nothing is fetched",
		  describe(job).c_str());
	wait_until_it_rests();
	ok = run_job(&next, daemon.socket_path, &more, random, &why);
	check(ok, "another job that does not fit beside it is sorted %s", why.c_str());
	check(look(daemon).idle_bytes >= idle.sorted.row_bytes && look(daemon).device[0].jobs == 1,
		  "as it has left the device");
	gpusortd_close(&next);
	check(fetch_all(&idle, &rows, &why) && fetch_around(&idle, rows, random, &why), "and is whole %s",
		  why.c_str());
	gpusortd_close(&idle);
	check(daemon.settles() && nothing_is_promised(daemon) && look(daemon).idle_bytes == 0,
		  "all is given back");
}

/* Nobody wants anything: a result that fills most of the device leaves it by itself, a small one stays. */
static void
check_leaves_unasked(Random *random)
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "7M"});
	JobRows rows(result_case, random);
	JobRows few(JobCase{8, 0, 100, 100, 20, 8}, random);
	GpusortdClient small;
	GpusortdClient large;
	std::string why;
	bool ok = sort_rows(&small, daemon, few, random);

	/* Longer than it takes until a job leaves. */
	sleep_ms(1500);
	check(ok && look(daemon).idle_bytes == 0, "a result stays on a device that has room");
	ok = sort_rows(&large, daemon, rows, random);
	for (int i = 0; i < 100 && look(daemon).device[0].jobs > 0; i++)
		sleep_ms(100);
	check(ok && look(daemon).idle_bytes >= large.sorted.row_bytes && look(daemon).device[0].jobs == 0,
		  "where it gets short of memory, results leave that nobody has fetched from for long");
	check(fetch_all(&large, &rows, &why) && fetch_all(&small, &few, &why), "and are whole %s", why.c_str());
	gpusortd_close(&small);
	gpusortd_close(&large);
	check(daemon.settles() && nothing_is_promised(daemon) && look(daemon).idle_bytes == 0,
		  "all is given back");
}

/* What others need, for a job in the queue; the reader goes on from the window that it has. */
static void
check_cursor_goes_on(Random *random)
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "8M"});
	JobRows rows(result_case, random);
	GpusortdClient cursor;
	GpusortdClient next;
	GpusortdRows first = {};
	GpusortdRows second = {};
	std::string window;
	bool ok =
		sort_rows(&cursor, daemon, rows, random) && gpusortd_fetch(&cursor, false, GPUSORTD_NEXT, &first);
	std::list<BusyJob> busy;

	for (int i = 0; i < 2; i++)
		ok = busy.emplace_back(daemon, MIB).begun && ok;
	window.assign(gpusortd_chunk(&cursor, first.chunk), first.bytes);
	ok = ok && ask_for_job(&next, daemon, 8 * MIB);
	check(ok && next_message(&next) == GPUSORTD_QUEUED, "a job waits for memory that an open cursor has");
	check(leaves_queue(&next) && look(daemon).idle_bytes >= cursor.sorted.row_bytes, "and gets it");
	check(window == std::string(gpusortd_chunk(&cursor, first.chunk), first.bytes),
		  "the cursor keeps its window");
	ok = gpusortd_fetch(&cursor, false, GPUSORTD_NEXT, &second);
	check(ok && second.first == first.first + first.rows && second.rows > 0, "and goes on");
	gpusortd_close(&next);
	gpusortd_close(&cursor);
}

/* Without idle memory a result stays where it is, and nobody waits for it. */
static void
check_no_idle_memory(Random *random)
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "5M", "--idle-memory", "0"});
	JobRows rows(result_case, random);
	GpusortdClient idle;
	GpusortdClient next;
	GpusortdError error = {};
	std::string why;
	bool ok = sort_rows(&idle, daemon, rows, random);

	wait_until_it_rests();
	ok = ok && ask_for_job(&next, daemon, 2 * MIB) && message_after_queue(&next, &error) == GPUSORTD_ERROR;
	check(ok && error.code == GPUSORTD_MEMORY_FULL,
		  "where a result can't leave the device nobody waits for that");
	next.in_job = true;
	check(gpusortd_end(&next) && fetch_all(&idle, &rows, &why), "and it is whole %s", why.c_str());
	gpusortd_close(&next);
	gpusortd_close(&idle);
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

/* Jobs with large estimates that send no rows are there for nobody's harm. */
static void
check_estimates(Random *random)
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	GpusortdClient absurd[6];
	GpusortdClient next;
	JobRows rows(result_case, random);
	std::string why;
	bool ok = true;

	for (GpusortdClient &one : absurd)
		ok = ok && ask_for_job(&one, daemon, UINT64_C(1) << 40);
	for (GpusortdClient &one : absurd)
		ok = ok && message_after_queue(&one) == GPUSORTD_JOB;
	check(ok, "six jobs that each expect more than there is are begun");
	check(run_job(&next, daemon.socket_path, &rows, random, &why), "and another one is done %s", why.c_str());
	gpusortd_close(&next);
	for (GpusortdClient &one : absurd)
		gpusortd_close(&one);
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

/* Chunk memory is for two connections: those that rest make room for more. */
static void
check_chunks(Random *random)
{
	Daemon daemon({"--staging-memory", "512k"});
	std::list<JobRows> rows;
	GpusortdClient client[12];
	std::string why;
	bool ok = true;

	for (GpusortdClient &one : client)
	{
		rows.emplace_back(result_case, random);
		ok = ok && sort_rows(&one, daemon, rows.back(), random);
	}
	check(ok, "twelve jobs with chunk memory for two");
	for (GpusortdClient &one : client)
	{
		ok = ok && fetch_all(&one, &rows.front(), &why) && fetch_around(&one, rows.front(), random, &why);
		rows.pop_front();
		gpusortd_close(&one);
	}
	check(ok, "whose results are whole %s", why.c_str());
	check(daemon.settles() && nothing_is_promised(daemon) && look(daemon).idle_bytes == 0,
		  "all is given back");
}

/* In the middle of a feed: what a job has taken stays, and it takes more. */
static void
check_pause(const JobCase &job, Random *random)
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "100M"});
	JobRows rows(job, random);
	GpusortdBegin begin = rows.begin();
	GpusortdClient client;
	std::list<BusyJob> busy;
	std::string why;
	bool ok;

	begin.expected_row_bytes = UINT64_C(1) << 40;
	ok = gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr) &&
		 gpusortd_begin(&client, &begin) && feed(&client, rows, 0, job.rows / 2, random) &&
		 gpusortd_flush(&client);
	wait_until_it_rests();
	for (int i = 0; i < 3; i++)
		ok = busy.emplace_back(daemon, 25 * MIB).begun && ok;
	ok = ok && look(daemon).device[0].free_bytes == 0 && busy.emplace_back(daemon, 15 * MIB).begun;
	check(ok, "%s: a feed that pauses gives back what it has no use for", describe(job).c_str());
	busy.clear();
	ok = ok && feed(&client, rows, job.rows / 2, job.rows, random) && gpusortd_perform(&client) &&
		 fetch_all(&client, &rows, &why);
	check(ok, "and goes on %s", why.c_str());
	gpusortd_close(&client);
}

/* A job that goes on in the place of the last one is not behind those in the queue. */
static void
check_next_job(Random *random)
{
	Daemon daemon({"--devices", "0", "--max-device-memory", "5M"});
	JobRows rows(result_case, random);
	JobRows more(result_case, random);
	GpusortdBegin begin = more.begin();
	GpusortdClient client;
	GpusortdClient waiting;
	std::string why;
	bool ok = sort_rows(&client, daemon, rows, random) && ask_for_job(&waiting, daemon, 2 * MIB) &&
			  next_message(&waiting) == GPUSORTD_QUEUED && fetch_all(&client, &rows, &why) &&
			  gpusortd_begin(&client, &begin);

	check(ok, "another job in the place of one that is over, with others in the queue %s", why.c_str());
	ok = ok && feed(&client, more, 0, more.job.rows, random) && gpusortd_perform(&client) &&
		 fetch_all(&client, &more, &why);
	check(ok && is_silent(&waiting, 0), "is done before them %s", why.c_str());
	check(gpusortd_end(&client) && leaves_queue(&waiting), "they come next");
	gpusortd_close(&client);
	gpusortd_close(&waiting);
	check(daemon.settles() && nothing_is_promised(daemon), "all is given back");
}

void
check_idle(Random *random)
{
	for (const JobCase &job :
		 {result_case, JobCase{0, 0, 40000, 80, 20, 8}, JobCase{16, 0, 100000, 16, 0, 12}})
		check_result_leaves(job, random);
	check_leaves_unasked(random);
	check_cursor_goes_on(random);
	check_no_idle_memory(random);
	check_estimates(random);
	check_chunks(random);
	check_pause(result_case, random);
	check_next_job(random);
}
