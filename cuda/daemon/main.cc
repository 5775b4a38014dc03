/*
 * main.cc
 *		gpusortd: sorts for PostgreSQL's backends on GPUs, in a process of its own.
 *
 * The options; service.h says who does the rest, protocol.h (GpusortdExit) with which status it ends.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include <getopt.h>
#include <unistd.h>

#include "daemon/server/service.h"

static void
print_usage(FILE *to)
{
	fprintf(
		to,
		"gpusortd --socket PATH [option ...]: sorts on GPUs for PostgreSQL's backends\n"
		"  --socket PATH              path of the socket; mode 0600, only for this user\n"
		"  --devices LIST             numbers of the devices to use, as 0,2; default: all\n"
		"  --max-device-memory SIZE   memory of each device to use, in bytes (k, M, G: kibi-, mebi-, gibibytes) or as 80%%, the default\n"
		"  --staging-memory SIZE      pinned host memory for chunks on their way; default 1G\n"
		"  --idle-memory SIZE         host memory for results that have not been read for a while; default 4G\n"
		"  --chunk-size SIZE          size of a chunk, a multiple of 4k; default 4M\n"
		"  --chunks NUMBER            chunks of a connection; default 8\n"
		"  --device-timeout SECONDS   end if a call of a device takes longer; default 60\n"
		"  --parent-fd NUMBER         end when the other end of this pipe is closed\n"
		"  --self-test                sort a job through a socket with every device layer that can be used, and end\n"
		"  --version, --help\n"
		"for tests:\n"
		"  --host-memory-layer        no GPU: sort in host memory\n"
		"  --count-devices NUMBER     each device counts as this number of devices, with a part of its memory each\n"
		"  --fault KIND:NUMBER        with --host-memory-layer: alloc, lost, hang or crash at that call of the layer; slow: milliseconds for each call\n");
}

[[noreturn]] static void
usage_error(const char *what, const char *value)
{
	fprintf(stderr, "FATAL: %s \"%s\"; see gpusortd --help\n", what, value);
	exit(GPUSORTD_EXIT_USAGE);
}

/* A number from 1, maybe with a unit. */
static uint64_t
parse_size(const char *option, const char *value)
{
	char *end;
	uint64_t number = strtoull(value, &end, 10);
	int shift = *end == 'k' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;

	if (*value < '0' || *value > '9' || end[shift > 0] != '\0' || number == 0 ||
		number > (UINT64_C(1) << 50 >> shift))
		usage_error(option, value);
	return number << shift;
}

static uint64_t
parse_number(const char *option, const char *value, uint64_t most)
{
	char *end;
	uint64_t number = strtoull(value, &end, 10);

	if (*value < '0' || *value > '9' || *end != '\0' || number > most)
		usage_error(option, value);
	return number;
}

static void
parse_device_memory(Settings *settings, const char *option, const char *value)
{
	std::string text = value;

	if (text.back() == '%')
	{
		text.pop_back();
		settings->device_memory_percent = parse_number(option, text.c_str(), 100);
		if (settings->device_memory_percent == 0)
			usage_error(option, value);
	}
	else
		settings->device_memory = parse_size(option, value);
}

static void
parse_devices(Settings *settings, const char *option, const char *value)
{
	std::string list = value;

	for (size_t at = 0; at <= list.size();)
	{
		size_t comma = std::min(list.find(',', at), list.size());

		settings->devices.push_back(parse_number(option, list.substr(at, comma - at).c_str(), 1000));
		at = comma + 1;
	}
	std::sort(settings->devices.begin(), settings->devices.end());
	if (std::unique(settings->devices.begin(), settings->devices.end()) != settings->devices.end())
		usage_error(option, value);
}

/* What the command line asks for. */
struct Task
{
	Settings settings;
	bool self_test = false;
};

/* The options; `val` tells them apart below. */
enum Option
{
	SOCKET = 1,
	DEVICES,
	MAX_DEVICE_MEMORY,
	STAGING_MEMORY,
	IDLE_MEMORY,
	CHUNK_SIZE,
	CHUNKS,
	DEVICE_TIMEOUT,
	PARENT_FD,
	SELF_TEST,
	VERSION,
	HELP,
	HOST_MEMORY_LAYER,
	COUNT_DEVICES,
	FAULT
};

static const option options[] = {
	{"socket", required_argument, nullptr, SOCKET},
	{"devices", required_argument, nullptr, DEVICES},
	{"max-device-memory", required_argument, nullptr, MAX_DEVICE_MEMORY},
	{"staging-memory", required_argument, nullptr, STAGING_MEMORY},
	{"idle-memory", required_argument, nullptr, IDLE_MEMORY},
	{"chunk-size", required_argument, nullptr, CHUNK_SIZE},
	{"chunks", required_argument, nullptr, CHUNKS},
	{"device-timeout", required_argument, nullptr, DEVICE_TIMEOUT},
	{"parent-fd", required_argument, nullptr, PARENT_FD},
	{"self-test", no_argument, nullptr, SELF_TEST},
	{"version", no_argument, nullptr, VERSION},
	{"help", no_argument, nullptr, HELP},
	{"host-memory-layer", no_argument, nullptr, HOST_MEMORY_LAYER},
	{"count-devices", required_argument, nullptr, COUNT_DEVICES},
	{"fault", required_argument, nullptr, FAULT},
	{},
};

static void
set_option(Task *task, int which, const char *name, const char *value)
{
	Settings *settings = &task->settings;

	if (value != nullptr && *value == '\0')
		usage_error("no value for", name);
	switch (which)
	{
		case SOCKET:
			settings->socket_path = value;
			break;
		case DEVICES:
			parse_devices(settings, name, value);
			break;
		case MAX_DEVICE_MEMORY:
			parse_device_memory(settings, name, value);
			break;
		case STAGING_MEMORY:
			settings->staging_memory = parse_size(name, value);
			break;
		case IDLE_MEMORY:
			settings->idle_memory = strcmp(value, "0") == 0 ? 0 : parse_size(name, value);
			break;
		case CHUNK_SIZE:
			settings->chunk_bytes = parse_size(name, value);
			break;
		case CHUNKS:
			settings->chunks = parse_number(name, value, GPUSORTD_MAX_CHUNKS);
			break;
		case DEVICE_TIMEOUT:
			settings->device_timeout = parse_number(name, value, 1 << 20);
			break;
		case PARENT_FD:
			settings->parent_fd = parse_number(name, value, 1 << 20);
			break;
		case SELF_TEST:
			task->self_test = true;
			break;
		case HOST_MEMORY_LAYER:
			settings->host_memory = true;
			break;
		case COUNT_DEVICES:
			settings->count_devices = std::max<uint64_t>(parse_number(name, value, GPUSORTD_MAX_DEVICES), 1);
			break;
		case FAULT:
			settings->fault = value;
			break;
		case VERSION:
			printf("gpusortd %s, protocol %d\n", GPUSORTD_RELEASE, GPUSORTD_VERSION);
			exit(GPUSORTD_EXIT_ASKED);
		case HELP:
			print_usage(stdout);
			exit(GPUSORTD_EXIT_ASKED);
	}
}

/* Ends if they are wrong. */
static Task
parse_options(int argc, char **argv)
{
	Task task;
	int which;

	while ((which = getopt_long(argc, argv, ":", options, nullptr)) != -1)
	{
		const char *name = argv[optind - 1];

		if (which == '?')
			usage_error("no such option:", name);
		if (which == ':')
			usage_error("no value for", name);
		set_option(&task, which, optarg != nullptr && optarg == name ? argv[optind - 2] : name, optarg);
	}
	if (optind < argc)
		usage_error("no such option:", argv[optind]);
	return task;
}

/* What no option alone can tell. */
static void
check_settings(const Settings &settings)
{
	if (settings.chunk_bytes % 4096 != 0 || settings.chunk_bytes > GPUSORTD_MAX_CHUNK_BYTES)
		usage_error("--chunk-size must be a multiple of 4k up to 1G, not",
					std::to_string(settings.chunk_bytes).c_str());
	if (settings.chunks == 0)
		usage_error("--chunks must be at least 1, not", "0");
	if (settings.staging_memory < settings.chunk_bytes * settings.chunks)
		usage_error("--staging-memory must have room for the chunks of one connection, not only",
					std::to_string(settings.staging_memory).c_str());
	if (settings.device_timeout == 0)
		usage_error("--device-timeout must be at least 1, not", "0");
	if (!settings.fault.empty() && !settings.host_memory)
		usage_error("without --host-memory-layer there is no --fault", settings.fault.c_str());
}

/* Nothing can be had back from a device that hangs: the thread that waits for it can't even be ended. */
static void
give_up(unsigned int seconds)
{
	log_line("FATAL", "a device has not answered for %u seconds", seconds);
	_exit(GPUSORTD_EXIT_HUNG);
}

static int
serve(const Settings &settings)
{
	std::string why_not;
	unsigned int timeout = settings.device_timeout;
	std::unique_ptr<DeviceLayer> layer =
		settings.host_memory ? device_layer_host(settings.fault, &why_not) : device_layer_cuda();

	if (layer == nullptr)
		usage_error("--fault:", why_not.c_str());

	layer = device_layer_watched(std::move(layer), timeout, [timeout] { give_up(timeout); });

	Service service(settings, std::move(layer));
	Outcome outcome = service.open();

	if (!outcome.ok())
	{
		log_line("FATAL", "%s", outcome.message.c_str());
		return outcome.code == GPUSORTD_NO_RESOURCES ? GPUSORTD_EXIT_NOT_STARTED : GPUSORTD_EXIT_NO_DEVICE;
	}
	return server_run(&service);
}

int
main(int argc, char **argv)
{
	Task task = parse_options(argc, argv);

	check_settings(task.settings);
	if (task.self_test)
		return self_test_run(task.settings);
	if (task.settings.socket_path.empty())
		usage_error("no", "--socket");
	server_block_signals();
	try
	{
		return serve(task.settings);
	}
	catch (const std::exception &error)
	{
		log_line("FATAL", "could not start: %s", error.what());
		return GPUSORTD_EXIT_NOT_STARTED;
	}
}
