/*
 * key/types.h
 *		What a sort column is, inside of this room: its kind, its markers, what encodes its values.
 *
 * A column's encoding is its *marker*, which tells NULL from a value and puts the NULLs first or last, and
 * then the value's bytes, complemented if the column is sorted descending.
 *
 * Every column encoding is prefix-free: of two different encodings of one column neither is a prefix of the
 * other.  Fixed widths are so by nature, and each variable encoder says how it comes by it.  All exactness
 * rests on that:
 *
 *	- Complementing bytes turns the order round, and keeps the property.
 *	- Of two rows, take the first column whose encodings differ.  They differ in a byte that both of them
 *	  have, and all before is equal: that byte decides as the column does, and what follows it, later columns,
 *	  padding or zero bytes left out at the end, is never looked at.  The byte itself, if it was a zero at the
 *	  end and left out, is read as a zero again.
 *	- If no column differs, the keys are the same bytes.
 */
#ifndef GPUSORT_KEY_TYPES_H
#define GPUSORT_KEY_TYPES_H

#include "fmgr.h"

#include "base/pg_compat.h"
#include "key/sort_key.h"

/* How values become bytes; the comment is what the Datum holds. */
typedef enum SortKeyKind
{
	/* fixed width, see fixed.h */
	SORT_KEY_UINT8, /* bool, or "char", which compares unsigned */
	SORT_KEY_INT16,
	SORT_KEY_INT32,
	SORT_KEY_UINT32,
	SORT_KEY_INT64,
	SORT_KEY_UINT64,
	SORT_KEY_FLOAT4,
	SORT_KEY_FLOAT8,
	SORT_KEY_BYTES6, /* pointer to bytes in order */
	SORT_KEY_BYTES8,
	SORT_KEY_BYTES16,
	SORT_KEY_TID,	   /* ItemPointer */
	SORT_KEY_TIMETZ,   /* TimeTzADT * */
	SORT_KEY_INTERVAL, /* Interval * */
	SORT_KEY_ENUM,	   /* oid of a pg_enum row */
	/* variable width */
	SORT_KEY_TEXT,	 /* varlena */
	SORT_KEY_BPCHAR, /* varlena, trailing blanks don't count */
	SORT_KEY_NAME,	 /* Name */
	SORT_KEY_BYTEA,
	SORT_KEY_BIT, /* VarBit * */
	SORT_KEY_NUMERIC,
	SORT_KEY_INET, /* inet or cidr */
	SORT_KEY_OIDVECTOR,
	SORT_KEY_TSVECTOR,
	SORT_KEY_LTREE,
	SORT_KEY_CITEXT,
	SORT_KEY_JSONB_STRING, /* JsonbValue *, within a document */
	/* the same, made of values of other types, see parts.h */
	SORT_KEY_ARRAY,
	SORT_KEY_RECORD, /* of a composite type */
	SORT_KEY_RANGE,
	SORT_KEY_MULTIRANGE,
	SORT_KEY_JSONB,
	SORT_KEY_UNKNOWN /* of whatever type: only its comparison knows the order */
} SortKeyKind;

/* Appends the bytes of a value that is not NULL to the key; see sort_key_reserve. */
typedef void (*SortKeyAppend)(SortKeyBuilder *key, SortKeyColumn *col, Datum value);

/* What becomes of the values of a type. */
typedef struct SortKeyType
{
	Oid type; /* InvalidOid: one of an extension */
	SortKeyKind kind;
	uint8 width;		  /* bytes of a value; 0 if variable */
	SortKeyAppend append; /* NULL if fixed */
	bool self_marked;	  /* see SortKeyColumn */
} SortKeyType;

typedef struct SortKeyIcu SortKeyIcu;		/* icu.c */
typedef struct SortKeyImages SortKeyImages; /* images.c */
typedef struct SortKeyEnum SortKeyEnum;		/* enum.c */
typedef struct SortKeyParts SortKeyParts;	/* parts.h */

struct SortKeyColumn
{
	int attidx; /* index into tts_values */
	SortKeyKind kind;
	uint8 width; /* bytes of a value; 0 if variable */
	uint8 null_marker;
	uint8 value_marker;
	bool self_marked; /* the value's first byte is 01 - FE and does as the marker */
	bool unmarked;	  /* there are no NULLs, and no marker; fixed keys */
	bool descending;
	uint64 flip;		   /* what values are xored with: the sign bit of signed numbers, and all bits of
							* a descending column */
	SortKeyAppend append;  /* NULL if fixed */
	Oid type;			   /* base type */
	bool verified;		   /* is the key a guess at the order of strings, which is to be verified? */
	Oid collation;		   /* of text that is not in bytewise order for certain, and of what is made of
							* such text; else InvalidOid */
	bool uses_icu;		   /* are sort keys of ICU in the key, of the strings or of those in the values? */
	SortKeyIcu *icu;	   /* NULL: not by ICU */
	SortKeyImages *images; /* makes those of strings; NULL: the string stands without one */
	SortKeyEnum *enum_order;
	SortKeyParts *parts; /* NULL: values are not made of others */
	SortKeyAppend guess; /* of values that stand whole behind it; NULL: there is none */
	Oid comparison;		 /* compares values that stand whole; else InvalidOid */
	FmgrInfo compare;	 /* the same, ready to be called */
	int16 length;		 /* then: typlen and typbyval */
	bool by_value;
};

/* Do the values stand whole, and are compared so? */
static inline bool
sort_key_is_whole(const SortKeyColumn *col)
{
	return OidIsValid(col->comparison);
}

/* Bytes of a fixed key that say whether the column is NULL. */
static inline int
sort_key_marker_bytes(const SortKeyColumn *col)
{
	return col->unmarked ? 0 : 1;
}

/* What becomes of values of the base type in its default order; NULL: nothing exact. */
extern const SortKeyType *sort_key_find_type(Oid type);

/*
 * The same in the order of this operator class; *bytewise: whatever the collation.
 */
extern const SortKeyType *sort_key_find_order(Oid type, Oid opfamily, Oid opcintype, bool *bytewise);

/*
 * A number that tells what the columns are from other ones, with the values of enums up to this one, by their
 * oids; InvalidOid: without any.
 */
extern uint64 sort_key_hash_columns(int ncols, const SortKeyColumn *cols, Oid newest);

/*
 * Fills in what is known of the column without looking at data, all but icu, images and enum_order, in
 * CurrentMemoryContext.  False if it can't be encoded exactly, *why_not tells why.
 */
extern bool sort_key_describe(const SortColumnSpec *spec, SortKeyColumn *col, Declined *why_not);

/*
 * The same of a column that could be encoded when the plan was made.  If that has changed since (false, with
 * *why_not), its values stand whole, and the operator's comparison has the last word.
 */
extern bool sort_key_describe_anyhow(const SortColumnSpec *spec, SortKeyColumn *col, Declined *why_not);

/* Makes ready what the column's values, or their parts, are encoded by, in CurrentMemoryContext. */
extern void sort_key_prepare_column(SortKeyColumn *col);

#endif /* GPUSORT_KEY_TYPES_H */
