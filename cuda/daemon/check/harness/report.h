/*
 * report.h
 *		The report of daemoncheck and layercheck: a line a test, "ok" or "not ok", and the sum.
 *
 * From any thread.
 */
#ifndef DAEMON_CHECK_REPORT_H
#define DAEMON_CHECK_REPORT_H

/* A test; returns whether it passed. */
bool check(bool passed, const char *what, ...) __attribute__((format(printf, 2, 3)));

/* A line that is no test. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The last line; the program's exit status: 1 if a test has failed, or there was none. */
int report_end();

#endif /* DAEMON_CHECK_REPORT_H */
