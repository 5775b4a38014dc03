/*
 * index/check.h
 *		gpusort_check of builds of indexes: would a build be taken, and how would it be done?
 *
 *		check			the statements that build indexes, and which indexes
 *		check_new		an index that a statement would make
 *		check_build		an index that there is; the row for a build
 */
#ifndef GPUSORT_INDEX_CHECK_H
#define GPUSORT_INDEX_CHECK_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "utils/rel.h"

#include "base/declined.h"
#include "index/device_choice.h"
#include "plan/check.h"

/* A row for the index that the statement would make; label: what it is called in the row, or NULL. */
extern void check_new_index(Check *check, Relation heap, const IndexStmt *statement, const char *label);

/* A row for an index that is built again; with_others: and so are indexes of other access methods. */
extern void check_existing_index(Check *check, Relation heap, Relation index, bool with_others);

/*
 * The row: key: the index's columns in words; why_not: NULL: it is taken.  Of what is not taken the shape's
 * processes alone are known, or there is none.
 */
extern void check_put_build(Check *check, const char *key, const BuildShape *build, const Declined *why_not);

/* Are indexes of this access method built by gpusort? */
extern bool index_method_is_ours(const char *access_method, Declined *why_not);

/* The key columns of an index that there is, in words. */
extern const char *index_key_in_words(Relation index);

#endif /* GPUSORT_INDEX_CHECK_H */
