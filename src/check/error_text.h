/*
 * check/error_text.h
 *		Positions of errors in a statement that is not the client's.
 */
#ifndef GPUSORT_CHECK_ERROR_TEXT_H
#define GPUSORT_CHECK_ERROR_TEXT_H

#include "postgres.h"

#include "utils/elog.h"

/*
 * Until check_end_text, error positions refer to `text`, not to the statement that calls gpusort_check.  The
 * caller owns the callback; check_end_text removes it.
 */
extern void check_begin_text(ErrorContextCallback *callback, const char *text);
extern void check_end_text(const ErrorContextCallback *callback);

#endif /* GPUSORT_CHECK_ERROR_TEXT_H */
