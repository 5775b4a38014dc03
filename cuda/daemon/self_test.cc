/*
 * self_test.cc
 *		gpusortd --self-test: whole jobs through a socket, with every device layer that can be used here.
 *
 * A thread runs the server in a folder of its own, this one is its client.  The jobs are small;
 * cuda/daemon/check has the tests proper.  No device is no failure: the line says why there is none.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <unistd.h>

#include "daemon/client/client.h"
#include "daemon/server/service.h"

#define SELF_TEST_ROWS 200000
#define SELF_TEST_ROW_BYTES 32

static uint64_t
mix(uint64_t number)
{
	number = (number ^ number >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	number = (number ^ number >> 27) * UINT64_C(0x94D049BB133111EB);
	return number ^ number >> 31;
}

/* Fills a chunk with rows from *row on: a row is its length, its number, and its key as a number. */
static bool
fill_and_submit(GpusortdClient *client, uint64_t *row)
{
	int number = gpusortd_take_chunk(client);
	char *chunk = number >= 0 ? gpusortd_chunk(client, number) : nullptr;
	uint64_t first = *row;
	uint64_t front = 0;
	uint64_t back = client->job.chunk_bytes;

	if (number < 0)
		return false;
	for (; *row < SELF_TEST_ROWS && back - front >= SELF_TEST_ROW_BYTES + 16; ++*row)
	{
		uint64_t key = mix(*row + 1);
		uint64_t stored[SELF_TEST_ROW_BYTES / 8] = {SELF_TEST_ROW_BYTES, *row, key, 0};
		uint64_t entry[2] = {__builtin_bswap64(key), back -= SELF_TEST_ROW_BYTES};

		memcpy(chunk + back, stored, sizeof(stored));
		memcpy(chunk + front, entry, sizeof(entry));
		front += sizeof(entry);
	}
	return gpusortd_submit_chunk(client, number, *row - first, front, back);
}

/* The rows come back in the order of their keys, every one once. */
static bool
check_result(GpusortdClient *client)
{
	std::vector<bool> seen(SELF_TEST_ROWS);
	uint64_t last = 0;
	uint64_t rows = 0;
	GpusortdRows window;

	do
	{
		if (!gpusortd_fetch(client, false, GPUSORTD_NEXT, &window))
			return false;
		for (uint64_t i = 0; i < window.rows; i++, rows++)
		{
			uint64_t row[SELF_TEST_ROW_BYTES / 8];

			memcpy(row, gpusortd_chunk(client, window.chunk) + i * sizeof(row), sizeof(row));
			if (row[1] >= SELF_TEST_ROWS || seen[row[1]] || row[2] != mix(row[1] + 1) || row[2] < last)
			{
				client->code = GPUSORTD_INVALID;
				snprintf(client->message, sizeof(client->message), "row %llu of the result is wrong",
						 (unsigned long long) rows);
				return false;
			}
			seen[row[1]] = true;
			last = row[2];
		}
	} while (window.rows > 0);
	if (rows == SELF_TEST_ROWS)
		return true;
	client->code = GPUSORTD_INVALID;
	snprintf(client->message, sizeof(client->message), "%llu rows came back", (unsigned long long) rows);
	return false;
}

static bool
sort_once(GpusortdClient *client, const char *socket_path, uint32_t algorithm)
{
	GpusortdBegin begin = {8, algorithm, 0, SELF_TEST_ROWS, 0, SELF_TEST_ROWS * SELF_TEST_ROW_BYTES, 0};
	uint64_t row = 0;

	if (!gpusortd_connect(client, socket_path, nullptr, nullptr) || !gpusortd_begin(client, &begin))
		return false;
	while (row < SELF_TEST_ROWS)
	{
		if (!fill_and_submit(client, &row))
			return false;
	}
	return gpusortd_perform(client) && check_result(client) && gpusortd_end(client);
}

/* False: a device can be used, and does not sort. */
static bool
test_layer(Settings settings, std::unique_ptr<DeviceLayer> layer, const std::string &folder)
{
	std::string name = layer->name();

	settings.socket_path = folder + "/socket";
	Service service(settings, std::move(layer));
	Outcome outcome = service.open();
	bool sorted = true;
	int status = -1;

	if (!outcome.ok())
	{
		printf("%s: not here: %s\n", name.c_str(), outcome.message.c_str());
		return true;
	}

	std::thread server([&] { status = server_run(&service); });

	for (int attempt = 0; attempt < 100 && access(settings.socket_path.c_str(), F_OK) != 0; attempt++)
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	for (uint32_t algorithm = GPUSORTD_AUTO; algorithm <= GPUSORTD_RADIX && sorted; algorithm++)
	{
		GpusortdClient client;

		sorted = sort_once(&client, settings.socket_path.c_str(), algorithm);
		if (!sorted)
			printf("%s: FAILED with algorithm %u: %s\n", name.c_str(), algorithm, client.message);
		gpusortd_close(&client);
	}
	service.stop(0);
	server.join();
	if (sorted && status == 0)
		printf("%s: ok, %d rows sorted by every algorithm\n", name.c_str(), SELF_TEST_ROWS);
	return sorted && status == 0;
}

int
self_test_run(const Settings &settings)
{
	char folder[] = "/tmp/gpusortd-XXXXXX";
	std::string why_not;
	Settings of_host = settings;
	bool ok;

	if (mkdtemp(folder) == nullptr)
	{
		printf("FAILED: could not make a folder in /tmp\n");
		return 1;
	}
	of_host.host_memory = true;
	ok = test_layer(of_host, device_layer_host("", &why_not), folder);
	ok &= test_layer(settings, device_layer_cuda(), folder);
	rmdir(folder);
	return ok ? 0 : 1;
}
