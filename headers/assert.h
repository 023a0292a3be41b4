// A failed assertion stops the kernel. May be included again after NDEBUG changed.
#include "warpsmith/prelude.h"
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : __ws_assertion_failed(#condition))
#endif
