/*
 * raw.h
 *		Connections without a client: any bytes, whether gpusortd wants them or not.
 */
#ifndef DAEMON_RAW_H
#define DAEMON_RAW_H

#include "daemon/check/harness/check.h"

/* A socket; -1: it could not be connected. */
int raw_connect(const std::string &path);

/* The bytes of a message. */
std::string raw_message(unsigned int type, const std::string &body);

template <typename Body>
static std::string
raw_message(unsigned int type, const Body &body)
{
	return raw_message(type, std::string((const char *) &body, sizeof(body)));
}

/* Sends the bytes that the socket takes, with `files` files, without waiting for an answer. */
void raw_send(int fd, const std::string &bytes, int files = 0);

/* All that is answered until gpusortd closes the connection, or says nothing for so long. */
std::string raw_receive(int fd, int ms, bool *closed = nullptr);

#endif /* DAEMON_RAW_H */
