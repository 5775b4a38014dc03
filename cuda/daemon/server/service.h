/*
 * service.h
 *		gpusortd as its threads see it.
 *
 * main.cc reads the options, server.cc listens and starts a thread a connection, session.cc and
 * session_job.cc are that thread, wire.cc its messages.  What they share is the Service.
 */
#ifndef GPUSORTD_SERVICE_H
#define GPUSORTD_SERVICE_H

#include <atomic>
#include <map>

#include "daemon/server/shared_job.h"

#define GPUSORTD_RELEASE "1.1"

struct Settings
{
	std::string socket_path;
	std::vector<int> devices;	/* empty: all */
	uint64_t device_memory = 0; /* bytes of each device; 0: by percentage */
	uint32_t device_memory_percent = 80;
	uint64_t staging_memory = UINT64_C(1) << 30;
	uint64_t idle_memory = UINT64_C(4) << 30; /* host memory for what idle jobs leave behind */
	uint64_t chunk_bytes = UINT64_C(4) << 20;
	uint32_t chunks = 8;		  /* of a connection */
	uint32_t device_timeout = 60; /* seconds that a call of the layer may take */
	int parent_fd = -1;			  /* ends when this is closed at the other end; -1: no parent */
	bool host_memory = false;
	/* each device counts as this number of devices, with a part of its memory each */
	uint32_t count_devices = 1;
	std::string fault;
};

struct Service
{
	Service(const Settings &its_settings, std::unique_ptr<DeviceLayer> its_layer)
		: settings(its_settings), layer(std::move(its_layer)), idle_memory(its_settings.idle_memory)
	{
	}

	~Service();

	/* Finds the devices and makes the rest; before anything else. */
	Outcome open();

	/*
	 * Asks the listening thread to end gpusortd, with this status; the first asking counts.  From any thread.
	 */
	void stop(int exit_status);

	/* Jobs that other connections may join. */
	void publish(const std::shared_ptr<SharedJob> &job);
	void withdraw(const std::shared_ptr<SharedJob> &job);
	std::shared_ptr<SharedJob> find(uint64_t id, uint64_t token);

	/* Chunks of a connection that has many rows to move, and of one that has few or only feeds. */
	uint32_t large_slab() const
	{
		return settings.chunks;
	}

	uint32_t small_slab() const
	{
		return (settings.chunks + 1) / 2;
	}

	Settings settings;
	std::unique_ptr<DeviceLayer> layer;
	std::unique_ptr<SlabPool> slabs;
	std::unique_ptr<Gate> gate;
	IdleMemory idle_memory;
	std::atomic<bool> stopping{false};
	std::atomic<int> exit_status{0};
	int stop_event = -1;
	uint32_t most_connections = 0;

private:
	Outcome share_files(uint32_t *chunks);
	std::vector<uint32_t> first_slabs() const;

	std::mutex jobs_mutex;
	std::map<uint64_t, std::weak_ptr<SharedJob>> jobs;
	uint64_t last_job = 0;
};

/* Talks with the client at this socket until one of them has enough.  Does not close the socket. */
void session_run(Service *service, int fd);

/*
 * Keeps the signals that end gpusortd for server_run, which reads them from a file.  To be called before
 * there is another thread: a driver's threads would take a signal that they don't block, and the process
 * would die of it.
 */
void server_block_signals();

/* Listens until it is told to stop; the process's exit status. */
int server_run(Service *service);

/* Sorts a job through a socket of its own with every device layer that can be used here; an exit status. */
int self_test_run(const Settings &settings);

/* Writes a line to stderr. level: LOG, WARNING or FATAL; the launcher logs the line at this level. */
void log_line(const char *level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif /* GPUSORTD_SERVICE_H */
