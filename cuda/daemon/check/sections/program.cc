/*
 * program.cc
 *		gpusortd as a program: options, its socket, how it ends.
 */
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/check/harness/check.h"

/* As the kernel has them; older C libraries don't. */
#define NOEXEC_SEAL 0x0008U
#define SEAL_EXEC 0x0020

static bool
exists(const std::string &path)
{
	struct stat found;

	return lstat(path.c_str(), &found) == 0;
}

static bool
can_connect(const Daemon &daemon)
{
	GpusortdClient client;
	bool connected = gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr);

	gpusortd_close(&client);
	return connected;
}

static void
check_options()
{
	std::string output;

	check(run_program({"--help"}, &output) == 0 && output.find("--socket PATH") != std::string::npos,
		  "--help");
	check(run_program({"--version"}, &output) == 0 && output.find("gpusortd ") == 0, "--version");
	check(run_program({"--self-test"}, &output) == 0 && output.find("host memory: ok") != std::string::npos,
		  "--self-test");
	for (const std::vector<std::string> &wrong :
		 std::vector<std::vector<std::string>>{{},
											   {"--socket"},
											   {"--nonsense", "1"},
											   {"--socket", "/tmp/x", "--chunk-size", "5"},
											   {"--socket", "/tmp/x", "--max-device-memory", "0%"},
											   {"--socket", "/tmp/x", "--max-device-memory", "101%"},
											   {"--socket", "/tmp/x", "--staging-memory", "1M"},
											   {"--socket", "/tmp/x", "--staging-memory", "99999999999G"},
											   {"--socket", "/tmp/x", "--devices", "0,,1"},
											   {"--socket", "/tmp/x", "--devices", "0,0"},
											   {"--socket", "/tmp/x", "--chunks", "0"},
											   {"--socket", "/tmp/x", "--chunks", "65"},
											   {"--socket", "/tmp/x", "--device-timeout", "0"},
											   {"--socket", "/tmp/x", "--fault", "alloc:1"},
											   {"--socket", "/tmp/x", "--host-memory-layer", "--fault",
												"alloc"}})
	{
		std::string all;

		for (const std::string &word : wrong)
			all += " " + word;
		check(run_program(wrong, &output) == 2 && output.find("FATAL: ") == 0, "wrong options:%s",
			  all.c_str());
	}
	check(run_program({"--socket", "/tmp/" + std::string(200, 'x'), "--host-memory-layer"}, &output) == 1 &&
			  output.find("FATAL") != std::string::npos,
		  "a path that is too long");
	check(run_program({"--socket", "/nonexistent/x", "--host-memory-layer"}, &output) == 1,
		  "a folder that is not there");
	check(run_program({"--socket", "/tmp/x", "--host-memory-layer", "--devices", "7"}, &output) == 5,
		  "a device that is not there");
}

static void
check_socket()
{
	Daemon daemon;
	struct stat found;
	std::string output;
	std::vector<std::string> same = {"--socket", daemon.socket_path, "--host-memory-layer"};

	check(stat(daemon.socket_path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode) &&
			  (found.st_mode & 0777) == 0600,
		  "the socket's mode is 0600");
	check(run_program(same, &output) == 1 && output.find("another gpusortd") != std::string::npos &&
			  can_connect(daemon),
		  "a second gpusortd does not take the socket of a living one");
	check(daemon.end() == 0 && !exists(daemon.socket_path) && !exists(daemon.socket_path + ".lock"),
		  "it ends on SIGTERM, and removes its socket");
}

/* No device has more memory than there is, whatever the option says. */
static void
check_device_memory()
{
	Daemon daemon({"--max-device-memory", "1000G"});
	GpusortdClient client;
	bool ok = gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr);

	for (uint32_t i = 0; ok && i < client.welcome.devices; i++)
		ok = client.welcome.device[i].limit_bytes <= client.welcome.device[i].memory_bytes;
	check(ok, "no more device memory is offered than there is");
	gpusortd_close(&client);
}

/* The seals of a process's chunk memory; -1: it has none. */
static int
chunk_memory_seals(const Daemon &daemon)
{
	std::string folder = "/proc/" + std::to_string(daemon.pid) + "/fd/";
	int seals = -1;

	for (int number = 0; number < 1000 && seals < 0; number++)
	{
		std::string path = folder + std::to_string(number);
		char link[16] = {};
		int fd;

		if (readlink(path.c_str(), link, sizeof(link) - 1) < 0 || strncmp(link, "/memfd:gpusort", 14) != 0)
			continue;
		fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
		seals = fcntl(fd, F_GET_SEALS);
		close(fd);
	}
	return seals;
}

/* Chunk memory keeps its size, and can't be made executable, which vm.memfd_noexec = 2 asks for. */
static void
check_seals()
{
	Daemon daemon;
	int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int fd = memfd_create("daemoncheck", MFD_CLOEXEC | NOEXEC_SEAL);

	if (fd >= 0)
	{
		wanted |= SEAL_EXEC;
		close(fd);
	}
	else
		note("skipped: memory that can't be made executable, which needs Linux 6.3");
	check((chunk_memory_seals(daemon) & wanted) == wanted, "chunk memory is sealed");
}

/* What a killed gpusortd left behind is replaced; what is no socket is not. */
static void
check_stale()
{
	char name[] = "/tmp/daemoncheck-XXXXXX";
	std::string path = std::string(mkdtemp(name)) + "/socket";
	std::string output;
	struct sockaddr_un address = {};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	GpusortdClient client;
	pid_t pid;
	int status;
	bool connected = false;

	address.sun_family = AF_UNIX;
	path.copy(address.sun_path, sizeof(address.sun_path) - 1);
	check(bind(fd, (struct sockaddr *) &address, sizeof(address)) == 0, "a stale socket");
	close(fd);
	std::ofstream(path + ".lock") << "";
	pid = fork();
	if (pid == 0)
	{
		execl(options.program.c_str(), "gpusortd", "--socket", path.c_str(), "--host-memory-layer",
			  (char *) nullptr);
		_exit(127);
	}
	for (int i = 0; i < 300 && !connected; i++)
	{
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
		connected = gpusortd_connect(&client, path.c_str(), nullptr, nullptr);
		gpusortd_close(&client);
	}
	check(connected, "is replaced");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	check(exists(path), "a killed gpusortd leaves its socket");
	unlink(path.c_str());
	std::ofstream(path) << "precious";
	check(run_program({"--socket", path, "--host-memory-layer"}, &output) == 1 && exists(path),
		  "what is no socket is not replaced");
	(void) !system(("rm -rf " + std::string(name)).c_str());
}

/* It ends with whoever holds the other end of a pipe. */
static void
check_parent()
{
	int ends[2];
	bool lives;

	if (!check(pipe(ends) == 0, "a pipe"))
		return;
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);

	Daemon daemon({"--parent-fd", std::to_string(ends[0])});

	lives = daemon.running() && can_connect(daemon);
	close(ends[0]);
	close(ends[1]);
	for (int i = 0; i < 300 && daemon.running(); i++)
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	check(lives && !daemon.running() && !exists(daemon.socket_path), "it ends with its parent");
}

/* SIGTERM in the middle of jobs. */
static void
check_end_with_clients(Random *random)
{
	JobRows rows({8, 0, 1000, 60, 0, 8}, random);
	GpusortdBegin begin = rows.begin();
	Daemon daemon;
	std::vector<GpusortdClient> clients(6);
	bool ok = true;

	for (size_t i = 0; i < clients.size(); i++)
	{
		ok &= gpusortd_connect(&clients[i], daemon.socket_path.c_str(), nullptr, nullptr);
		if (i > 0)
			ok &= gpusortd_begin(&clients[i], &begin);
		if (i > 1)
			ok &= feed(&clients[i], rows, 0, 1000, random);
		if (i > 3)
			ok &= gpusortd_perform(&clients[i]);
	}
	check(ok && daemon.end() == 0, "it ends on SIGTERM in the middle of jobs");
	check(!gpusortd_perform(&clients[2]) && clients[2].code == GPUSORTD_DISCONNECTED,
		  "and its clients learn it");
	for (GpusortdClient &client : clients)
		gpusortd_close(&client);
}

/*
 * As root: a user who is neither root nor the one gpusortd runs as is refused, even if he may open the
 * socket.
 */
static void
check_other_user()
{
	Daemon daemon;
	int status;
	pid_t pid;

	if (getuid() != 0)
	{
		note("skipped: another user, which needs root");
		return;
	}
	chmod(daemon.folder.c_str(), 0755);
	for (int mode : {0600, 0666})
	{
		chmod(daemon.socket_path.c_str(), mode);
		pid = fork();
		if (pid == 0)
			_exit(setgid(65534) != 0 || setuid(65534) != 0 ? 2 : can_connect(daemon));
		waitpid(pid, &status, 0);
		check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "another user is refused at a socket of mode %o",
			  mode);
	}
	check(can_connect(daemon), "and we are not");
}

void
check_program(Random *random)
{
	check_options();
	check_socket();
	check_device_memory();
	check_seals();
	check_stale();
	check_parent();
	check_end_with_clients(random);
	check_other_user();
}
