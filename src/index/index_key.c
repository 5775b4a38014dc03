/*
 * index/index_key.c
 *		A B-tree's order as a sort key: its key columns, then the tuple's tid.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/stratnum.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "base/pg_compat.h"
#include "index/index_key.h"
#include "key/key_row.h"
#include "key/sort_key.h"
#include "key/supported.h"

/* The key columns of the index as a Sort would describe them, and one for the tid; palloc'd. */
static SortColumnSpec *
describe_columns(Relation index, int *ncolumns)
{
	int nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	SortColumnSpec *columns = palloc0(sizeof(SortColumnSpec) * (nkeys + 1));

	for (int i = 0; i < nkeys; i++)
	{
		int16 option = index->rd_indoption[i];
		Oid input_type = index->rd_opcintype[i];
		Oid type = TupleDescAttr(RelationGetDescr(index), i)->atttypid;

		columns[i].attno = i + 1;
		/* an index holds names as cstrings, which their values can be taken for as well */
		columns[i].type = type == CSTRINGOID ? input_type : type;
		columns[i].sortop =
			get_opfamily_member(index->rd_opfamily[i], input_type, input_type,
								(option & INDOPTION_DESC) ? BTGreaterStrategyNumber : BTLessStrategyNumber);
		columns[i].collation = index->rd_indcollation[i];
		columns[i].nulls_first = (option & INDOPTION_NULLS_FIRST) != 0;
	}
	columns[nkeys].attno = RelationGetDescr(index)->natts + 1;
	columns[nkeys].type = TIDOID;
	columns[nkeys].sortop = TIDLessOperator;
	*ncolumns = nkeys + 1;
	return columns;
}

bool
index_key_supported(Relation index, Declined *why_not)
{
	int ncolumns;
	SortColumnSpec *columns = describe_columns(index, &ncolumns);
	bool supported = true;

	for (int i = 0; i < ncolumns && supported; i++)
		supported = sort_key_supported_for_index(&columns[i], why_not);
	pfree(columns);
	return supported;
}

TupleDesc
index_key_row_desc(Relation index)
{
	TupleDesc index_desc = RelationGetDescr(index);
	TupleDesc desc = CreateTemplateTupleDesc(index_desc->natts + 1);

	for (int i = 1; i <= index_desc->natts; i++)
		TupleDescCopyEntry(desc, i, index_desc, i);
	TupleDescInitEntry(desc, desc->natts, "ctid", TIDOID, -1, 0);
	TupleDescFinalize(desc);
	return desc;
}

SortKey *
index_key_create(Relation index)
{
	int ncolumns;
	SortColumnSpec *columns = describe_columns(index, &ncolumns);
	SortKey *key = sort_key_create(ncolumns, columns);

	key->policy.index_rows = index_key_row_desc(index);
	key->policy.rows = key_row_create_index(key, key->policy.index_rows);
	pfree(columns);
	return key;
}

void
index_key_estimate(Relation index, double *row_bytes, double *key_bytes)
{
	TupleDesc desc = RelationGetDescr(index);
	double *widths = palloc(sizeof(double) * (desc->natts + 1));
	double width = 0;
	int ncolumns;
	SortColumnSpec *columns = describe_columns(index, &ncolumns);
	SortKeyEstimate estimate;
	Declined why_not;

	for (int i = 0; i < desc->natts; i++)
	{
		widths[i] = get_typavgwidth(TupleDescAttr(desc, i)->atttypid, TupleDescAttr(desc, i)->atttypmod);
		width += widths[i];
	}
	widths[ncolumns - 1] = sizeof(ItemPointerData);
	*row_bytes = INDEX_ROW_HEADER + sizeof(IndexTupleData) + width;
	(void) sort_key_estimate(ncolumns, columns, widths, &estimate, &why_not);
	*key_bytes = estimate.bytes;
	pfree(columns);
	pfree(widths);
}
