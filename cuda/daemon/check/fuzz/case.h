/*
 * case.h
 *		A case of the protocol's fuzzer: gpusortd, its connections, and what they say.
 */
#ifndef DAEMON_CHECK_FUZZ_CASE_H
#define DAEMON_CHECK_FUZZ_CASE_H

#include <cstddef>
#include <cstdint>
#include <string>

/* What is wrong; empty: nothing. */
std::string run_case(const uint8_t *bytes, size_t size);

#endif /* DAEMON_CHECK_FUZZ_CASE_H */
