/*
 * key/column.h
 *		A sort column inside this room: its kind, its markers, the encoder of its values.
 *
 * A column's encoding is its *marker*, which tells NULL from a value and puts the NULLs first or last, and
 * then the value's bytes, complemented if the column is sorted descending.
 *
 * Every column encoding is prefix-free: of two different encodings of one column neither is a prefix of the
 * other.  Encodings of fixed width are always prefix-free, and each variable encoder has a comment that says
 * why it is.  Exactness follows from that:
 *
 *	- Complementing bytes reverses the order, and keeps the property.
 *	- Of two rows, take the first column whose encodings differ.  They differ in a byte that both of them
 *	  have, and all bytes before are equal.  That byte decides as the column does.  The bytes behind it, of
 *	  later columns, padding or zero bytes left out at the end, do not matter.  If the byte itself was a zero
 *	  at the end and left out, it is read as a zero again.
 *	- If no column differs, the keys are the same bytes.
 */
#ifndef GPUSORT_KEY_COLUMN_H
#define GPUSORT_KEY_COLUMN_H

#include "fmgr.h"
#include "utils/typcache.h"

#include "base/pg_compat.h"
#include "key/types.h"

/* How values become bytes.  The comments say what the Datum holds. */
typedef enum SortKeyKind
{
	/* fixed width, see fixed.h */
	SORT_KEY_UINT8, /* bool, or "char", which compares unsigned */
	SORT_KEY_INT16,
	SORT_KEY_UINT16, /* the bytes of a value of two bytes, in a record image */
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
	SORT_KEY_CODE,	   /* a value of variable width, of which the key has the code (coded.h) */
	/* variable width */
	SORT_KEY_TEXT,	 /* varlena */
	SORT_KEY_BPCHAR, /* varlena; trailing blanks do not count */
	SORT_KEY_NAME,	 /* Name */
	SORT_KEY_BYTEA,	 /* also any varlena, in a record image */
	SORT_KEY_BIT,	 /* VarBit * */
	SORT_KEY_NUMERIC,
	SORT_KEY_INET, /* inet or cidr */
	SORT_KEY_OIDVECTOR,
	SORT_KEY_TSVECTOR,
	SORT_KEY_LTREE,
	SORT_KEY_CITEXT,
	SORT_KEY_JSONB_STRING, /* JsonbValue *, within a document */
	SORT_KEY_IMAGE,		   /* pointer to `length` bytes, in a record image */
	/* variable width, values that consist of other values, see components.h */
	SORT_KEY_ARRAY,
	SORT_KEY_RECORD,	   /* of a composite type */
	SORT_KEY_RECORD_IMAGE, /* the same, by the bytes of its columns */
	SORT_KEY_RANGE,
	SORT_KEY_MULTIRANGE,
	SORT_KEY_JSONB,
	SORT_KEY_UNKNOWN /* any other type: only its comparison has the order */
} SortKeyKind;

/* Appends the bytes of a value that is not NULL to the key; see sort_key_reserve. */
typedef void (*SortKeyAppend)(SortKeyBuilder *key, SortKeyColumn *col, Datum value);

/* The encoding of the values of a type. */
typedef struct SortKeyType
{
	Oid type; /* InvalidOid: a type of an extension */
	SortKeyKind kind;
	uint8 width;		  /* bytes of a value; 0 if variable */
	SortKeyAppend append; /* NULL if fixed */
	bool self_marked;	  /* see SortKeyColumn */
} SortKeyType;

typedef struct SortKeyIcu SortKeyIcu;				/* icu.c */
typedef struct SortKeyImages SortKeyImages;			/* images.c */
typedef struct SortKeyEnum SortKeyEnum;				/* enum.c */
typedef struct SortKeyComponents SortKeyComponents; /* below */

struct SortKeyColumn
{
	int attidx; /* index into tts_values */
	SortKeyKind kind;
	uint8 width; /* bytes of a value; 0 if variable */
	uint8 null_marker;
	uint8 value_marker;
	bool self_marked; /* the value's first byte is 01 - FE and serves as the marker */
	bool unmarked;	  /* there are no NULLs, and no marker; only in fixed keys */
	bool descending;
	/* mask for xor with values: the sign bit of signed numbers, and all bits of a descending column */
	uint64 flip;
	SortKeyAppend append; /* NULL if fixed */
	Oid type;			  /* base type */
	bool verified;		  /* does the key only guess the order of strings, so that it must be verified? */
	/*
	 * collation of text that may not have bytewise order, and of values that contain such text; otherwise
	 * InvalidOid
	 */
	Oid collation;
	bool uses_icu;		   /* does the key contain sort keys of ICU, of strings or of strings in values? */
	SortKeyIcu *icu;	   /* NULL: ICU is not used */
	SortKeyImages *images; /* makes images of strings; NULL: strings have no image */
	SortKeyEnum *enum_order;
	struct CodedColumn *coded;	   /* of SORT_KEY_CODE */
	SortKeyComponents *components; /* NULL: values do not consist of other values */
	SortKeyAppend guess;		   /* guess of values that are stored whole behind it; NULL: there is none */
	Oid comparison;	  /* function that compares values that are stored whole; otherwise InvalidOid */
	FmgrInfo compare; /* the comparison function, ready to be called */
	int16 length;	  /* then, and of an image: typlen */
	bool by_value;	  /* then: typbyval */
};

/* Are values stored whole, and compared as such? */
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

/* ---------------------------------------------------------------- components */

/* The markers of components. */
#define COMPONENT_END 1		  /* there are no more; of a range: it is empty */
#define COMPONENT_BELOW 2	  /* no lower bound */
#define COMPONENT_VALUE 3	  /* the value follows */
#define COMPONENT_ABOVE 4	  /* NULL; no upper bound */
#define COMPONENT_ALL_ABOVE 5 /* NULL, as are all that follow */

/* The columns for the components of jsonb, and their markers, which follow the order of the types. */
#define JSONB_STRINGS 0
#define JSONB_NUMBERS 1
#define JSONB_NULL 1
#define JSONB_STRING 2
#define JSONB_NUMERIC 3
#define JSONB_FALSE 4
#define JSONB_TRUE 5
#define JSONB_ARRAY 6
#define JSONB_OBJECT 7

/* The components of a column's values; components.h says how they become bytes. */
struct SortKeyComponents
{
	int ncolumns;			/* columns of a composite type that are not dropped; 2 for jsonb; otherwise 1 */
	SortKeyColumn *columns; /* columns of the components; attidx is an index into values and isnull */

	/* arrays: the type of the elements, and how they are stored */
	Oid element_type;
	int16 length;
	bool by_value;
	char align;

	TypeCacheEntry *range; /* ranges and multiranges: the type of the range */

	/* composite types, as they were described */
	TypeCacheEntry *composite;
	uint64 version; /* the type's tupDesc_identifier at that time */
	/*
	 * describes the components of the altered type again; raises an error if the type's keys would differ
	 * from the earlier ones
	 */
	void (*follow)(SortKeyColumn *col);
	TupleDesc desc;
	int32 typmod; /* of the last record without a named type; -1: there was none */
	Datum *values;
	bool *isnull;

	union
	{
		struct varlena value;
		char bytes[VARHDRSZ + VARATT_SHORT_MAX];
		int64 aligned;
	} unpacked; /* room for a value with a header of one byte */
};

#endif /* GPUSORT_KEY_COLUMN_H */
