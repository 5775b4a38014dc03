/*
 * daemon.cc
 *		Running gpusortd as a child, and looking at what it holds.
 */
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/check/harness/check.h"

/* What is to end by itself. */
#define PROGRAM_SECONDS 120

static void
sleep_ms(int ms)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

/* In the child: becomes gpusortd. */
[[noreturn]] static void
become_program(const std::vector<std::string> &arguments, int output, unsigned int files)
{
	struct rlimit limit = {files, files};
	std::vector<char *> argv = {(char *) options.program.c_str()};

	for (const std::string &argument : arguments)
		argv.push_back((char *) argument.c_str());
	argv.push_back(nullptr);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(output, STDERR_FILENO);
	dup2(output, STDOUT_FILENO);
	if (files > 0 && setrlimit(RLIMIT_NOFILE, &limit) != 0)
		_exit(127);
	execv(argv[0], argv.data());
	_exit(127);
}

static int
open_fds(pid_t pid)
{
	DIR *folder = opendir(("/proc/" + std::to_string(pid) + "/fd").c_str());
	int count = 0;

	while (folder != nullptr && readdir(folder) != nullptr)
		count++;
	if (folder != nullptr)
		closedir(folder);
	return count;
}

Holdings
Daemon::holdings() const
{
	std::ifstream status("/proc/" + std::to_string(pid) + "/status");
	std::string word;
	Holdings found = {open_fds(pid), 0, 0};

	while (status >> word)
	{
		if (word == "Threads:")
			status >> found.threads;
		else if (word == "VmRSS:")
			status >> found.resident_kb;
	}
	return found;
}

/* A GPU's driver opens files and starts threads of its own when it is first used, and maybe a few later. */
#define DRIVER_FILES 16
#define DRIVER_THREADS 4

static void
warm_up(const Daemon &daemon)
{
	for (uint32_t key_bytes = 0; options.cuda && !options.bench && key_bytes <= 16; key_bytes += 16)
	{
		Random random(1);
		JobRows rows({key_bytes, GPUSORTD_AUTO, 10000, 60, 20, 8}, &random);
		GpusortdClient client;
		std::string why;

		if (!run_job(&client, daemon.socket_path, &rows, &random, &why))
			note("warming up: %s", why.c_str());
		gpusortd_close(&client);
	}
}

Daemon::Daemon(const std::vector<std::string> &more, unsigned int files)
{
	char name[] = "/tmp/daemoncheck-XXXXXX";
	std::vector<std::string> arguments;
	int log_fd;

	folder = mkdtemp(name);
	socket_path = folder + "/socket";
	arguments = {"--socket", socket_path};
	if (!options.cuda)
		arguments.push_back("--host-memory-layer");
	if (!options.cuda || options.small)
		arguments.insert(arguments.end(), {"--chunk-size", "64k", "--chunks", "4", "--staging-memory", "8M"});
	arguments.insert(arguments.end(), more.begin(), more.end());
	log_fd = open((folder + "/log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600);
	pid = fork();
	if (pid == 0)
		become_program(arguments, log_fd, files);
	close(log_fd);
	for (int i = 0; i < 15000 && running(); i++)
	{
		GpusortdClient client;
		bool connected = gpusortd_connect(&client, socket_path.c_str(), nullptr, nullptr);

		gpusortd_close(&client);
		if (connected)
			break;
		sleep_ms(2);
	}
	warm_up(*this);
	/* The threads of these connections end. */
	for (Holdings before = {}; running() && (at_start.threads == 0 || at_start.threads != before.threads);
		 sleep_ms(5))
	{
		before = at_start;
		at_start = holdings();
	}
}

/* What a sanitizer had to say about gpusortd is a failure of the test that it ran for. */
static void
check_sanitizer(const std::string &log)
{
	size_t report = log.find("Sanitizer: ");

	if (report != std::string::npos)
		check(false, "a sanitizer reports:\n%s", log.substr(log.rfind('\n', report) + 1).c_str());
}

std::string
Daemon::log() const
{
	std::ifstream file(folder + "/log");

	return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Daemon::~Daemon()
{
	if (pid > 0)
		(void) end();
	check_sanitizer(log());
	(void) !system(("rm -rf " + folder).c_str());
}

bool
Daemon::running()
{
	int status;

	if (pid > 0 && waitpid(pid, &status, WNOHANG) == pid)
		pid = -1;
	return pid > 0;
}

int
Daemon::reap(int seconds)
{
	int status;

	for (int i = 0; i < seconds * 500; i++)
	{
		if (waitpid(pid, &status, WNOHANG) == pid)
		{
			pid = -1;
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
		sleep_ms(2);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	pid = -1;
	return -1;
}

int
Daemon::end()
{
	if (pid < 0)
		return -1;
	kill(pid, SIGTERM);
	return reap(20);
}

int
Daemon::wait()
{
	return pid < 0 ? -1 : reap(20);
}

/* Chunk memory and its file stay for the next client; each takes one file. */
bool
Daemon::settles()
{
	Holdings now = {};

	for (int i = 0; i < 500 && running(); i++)
	{
		std::string link(100, '\0');
		std::string fds = "/proc/" + std::to_string(pid) + "/fd/";
		int slabs = 0;
		DIR *fd_folder = opendir(fds.c_str());

		for (struct dirent *entry; fd_folder != nullptr && (entry = readdir(fd_folder)) != nullptr;)
		{
			ssize_t length = readlink((fds + entry->d_name).c_str(), &link[0], link.size());

			slabs += length > 0 && link.compare(0, 8, "/memfd:g") == 0;
		}
		if (fd_folder != nullptr)
			closedir(fd_folder);
		now = holdings();
		if (now.files - slabs <= at_start.files + (options.cuda ? DRIVER_FILES : 0) &&
			now.threads <= at_start.threads + (options.cuda ? DRIVER_THREADS : 0))
			return true;
		sleep_ms(10);
	}
	note("gpusortd holds %d files and %d threads, at its start %d and %d", now.files, now.threads,
		 at_start.files, at_start.threads);
	return false;
}

bool
nothing_is_promised(const Daemon &daemon)
{
	for (int i = 0; i < 500; i++)
	{
		GpusortdClient client;
		bool right = gpusortd_connect(&client, daemon.socket_path.c_str(), nullptr, nullptr) &&
					 client.welcome.devices > 0;

		for (uint32_t device = 0; device < client.welcome.devices; device++)
			right &= client.welcome.device[device].jobs == 0 &&
					 client.welcome.device[device].free_bytes == client.welcome.device[device].limit_bytes;
		gpusortd_close(&client);
		if (right)
			return true;
		sleep_ms(10);
	}
	return false;
}

int
run_program(const std::vector<std::string> &arguments, std::string *output, unsigned int files)
{
	int ends[2];
	char buffer[4096];
	ssize_t got;
	int status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	pid = fork();
	if (pid == 0)
	{
		alarm(PROGRAM_SECONDS);
		become_program(arguments, ends[1], files);
	}
	close(ends[1]);
	output->clear();
	while ((got = read(ends[0], buffer, sizeof(buffer))) > 0)
		output->append(buffer, got);
	close(ends[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
