/*
 * faults.cc
 *		Devices that fail, at every step; the layer in host memory does it on purpose.
 */
#include <chrono>
#include <thread>

#include "daemon/check/harness/check.h"

#define MOST_CALLS 200

/* Calls that gpusortd makes for slabs that it prepares, of which a client sees nothing if they fail. */
#define BACKGROUND_CALLS 6

/*
 * Runs a job; GPUSORTD_OK if all was right, the client's code if it was told of a failure, -1 if something
 * was wrong.
 */
static int
run_with_fault(Daemon *daemon, const JobCase &job, std::string *why)
{
	Random random(7);
	JobRows rows(job, &random);
	GpusortdClient client;
	int code = GPUSORTD_OK;

	if (!run_job(&client, daemon->socket_path, &rows, &random, why))
		code = client.code != GPUSORTD_OK ? (int) client.code : -1;
	gpusortd_close(&client);
	return code;
}

/* Some memory can't be had: the client is told, all is given back, and the next job works. */
static void
check_alloc(const JobCase &job)
{
	std::string why;
	int last = 0;
	int in_vain = 0;

	for (int call = 1; call < MOST_CALLS && last == 0; call++)
	{
		Daemon daemon({"--fault", "alloc:" + std::to_string(call)});
		int code = run_with_fault(&daemon, job, &why);
		std::string again;

		if ((code != GPUSORTD_OK && code != GPUSORTD_MEMORY_FULL) || !daemon.running() || !daemon.settles() ||
			(code != GPUSORTD_OK && run_with_fault(&daemon, job, &again) != GPUSORTD_OK))
		{
			check(false, "no memory at call %d: code %d, %s, %s", call, code, why.c_str(), again.c_str());
			return;
		}
		in_vain = code == GPUSORTD_OK ? in_vain + 1 : 0;
		if (in_vain > BACKGROUND_CALLS)
			last = call;
	}
	check(last > BACKGROUND_CALLS + 4, "no memory at any of the first %d calls", last - 1);
}

/*
 * The device is lost: the client is told or the connection ends, and gpusortd ends by itself with status 3.
 */
static void
check_lost(const JobCase &job)
{
	std::string why;
	int last = 0;

	for (int call = 1; call < MOST_CALLS && last == 0; call++)
	{
		Daemon daemon({"--fault", "lost:" + std::to_string(call)});
		int code = run_with_fault(&daemon, job, &why);

		for (int i = 0; i < 1500 && code != GPUSORTD_OK && daemon.running(); i++)
			std::this_thread::sleep_for(std::chrono::milliseconds(2));
		if (code == GPUSORTD_OK)
			last = call;
		else if (code != GPUSORTD_DEVICE_LOST || daemon.running())
		{
			check(false, "device lost at call %d: code %d, %s", call, code, why.c_str());
			return;
		}
	}
	check(last > 4, "the device lost at any of the first %d calls", last - 1);
}

/* Jobs on both devices when one is lost: both clients learn it, as gpusortd ends. */
static void
check_lost_for_all()
{
	Daemon daemon({"--fault", "lost:30"});
	Random random(7);
	JobRows rows({8, 0, 20000, 60, 0, 8}, &random);
	GpusortdBegin begin = rows.begin();
	GpusortdClient client[2];
	bool ok = true;
	bool told = true;

	for (GpusortdClient &one : client)
		ok = ok && gpusortd_connect(&one, daemon.socket_path.c_str(), nullptr, nullptr) &&
			 gpusortd_begin(&one, &begin);
	check(ok && client[0].job.device != client[1].job.device, "jobs on two devices");
	for (GpusortdClient &one : client)
	{
		while (ok && feed(&one, rows, 0, rows.job.rows, &random))
			;
		told &= one.code == GPUSORTD_DEVICE_LOST || one.code == GPUSORTD_DISCONNECTED;
		gpusortd_close(&one);
	}
	check(told && daemon.wait() == 3,
		  "when one is lost both clients learn it, and gpusortd ends with status 3");
}

/* gpusortd dies: every client learns it at once. */
static void
check_crash(const JobCase &job)
{
	std::string why;
	int last = 0;

	for (int call = 1; call < MOST_CALLS && last == 0; call++)
	{
		Daemon daemon({"--fault", "crash:" + std::to_string(call)});
		int code = run_with_fault(&daemon, job, &why);

		if (code == GPUSORTD_OK)
			last = call;
		else if (code != GPUSORTD_DISCONNECTED)
		{
			check(false, "crash at call %d: code %d, %s", call, code, why.c_str());
			return;
		}
	}
	check(last > 4, "a crash at any of the first %d calls", last - 1);
}

/* A device does not answer: gpusortd gives up, and every client learns it. */
static void
check_hang(const JobCase &job)
{
	std::string why;
	int last = 0;
	int wrong = 0;

	/* Each takes seconds: two while rows are fed, one for the sort, one for the result. */
	for (int call : {4, 12, 22, 60})
	{
		Daemon daemon({"--fault", "hang:" + std::to_string(call), "--device-timeout", "1"});
		int code = run_with_fault(&daemon, job, &why);

		last = call;
		if (code != GPUSORTD_OK && (code != GPUSORTD_DISCONNECTED || daemon.wait() != 4))
			wrong++;
	}
	check(wrong == 0, "no answer at some of the first %d calls: %s", last, why.c_str());
}

/*
 * Slow calls: the job is right all the same; who leaves in the middle leaves nothing; SIGTERM needn't wait
 * for long.
 */
static void
check_slow(const JobCase &job)
{
	Daemon daemon({"--fault", "slow:20"});
	std::string why;
	Random random(7);
	JobRows rows(job, &random);
	GpusortdBegin begin = rows.begin();
	GpusortdClient client;
	bool ok;

	check(run_with_fault(&daemon, job, &why) == GPUSORTD_OK, "slow calls %s", why.c_str());
	ok = gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr) &&
		 gpusortd_begin(&client, &begin) && feed(&client, rows, 0, job.rows, &random);
	gpusortd_close(&client);
	check(ok && daemon.settles(), "a client leaves in the middle of slow calls");
	ok = gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr) &&
		 gpusortd_begin(&client, &begin) && feed(&client, rows, 0, job.rows, &random);
	check(ok && daemon.end() == 0, "SIGTERM in the middle of slow calls");
	gpusortd_close(&client);
}

void
check_faults(Random *)
{
	const JobCase fixed = {8, 0, 2500, 60, 0, 8};
	const JobCase variable = {0, 0, 2000, 60, 20, 8};

	check_lost_for_all();
	for (const JobCase &job : {fixed, variable})
	{
		check_alloc(job);
		check_lost(job);
		check_crash(job);
		check_hang(job);
		check_slow(job);
	}
}
