// A CUDA driver without a GPU: device memory is host memory, modules are PTX text whose entries are looked up by name
// below, and every launch is written to LOG_PATH. Enough of the API for what the CUDA device does with it.
//
// Needs no headers and no libraries, so that any clang or gcc builds it: the process that loads it has the C library.

typedef unsigned long size_t, uint64_t, uintptr_t;
typedef __builtin_va_list va_list;
#define va_start __builtin_va_start
#define va_end __builtin_va_end
#define NULL ((void *)0)
enum { SIGSEGV = 11 };
typedef struct FILE FILE;
FILE *fopen(const char *, const char *);
int fclose(FILE *), fputc(int, FILE *), vfprintf(FILE *, const char *, va_list);
int snprintf(char *, size_t, const char *, ...), sprintf(char *, const char *, ...), sscanf(const char *, const char *, ...);
void *malloc(size_t), *calloc(size_t, size_t), *aligned_alloc(size_t, size_t);
void free(void *);
void *memcpy(void *, const void *, size_t), *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t), strcmp(const char *, const char *), strncmp(const char *, const char *, size_t);
char *strstr(const char *, const char *), *strchr(const char *, int), *strpbrk(const char *, const char *);
char *strcpy(char *, const char *);
size_t strlen(const char *);
unsigned long strtoul(const char *, char **, int);
int atoi(const char *), raise(int), pause(void);

typedef int CUresult;
typedef uint64_t CUdeviceptr;
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_PTX = 218, NOT_FOUND = 500 };
enum { MAXIMUM_PARAMETERS = 16, MAXIMUM_ENTRIES = 32, MAXIMUM_NODES = 4096, MAXIMUM_PARAMETER_BYTES = 512 };

typedef struct Module Module;
typedef struct {
  Module *module;
  char name[128];
  int parameterCount;
  size_t parameterBytes[MAXIMUM_PARAMETERS];
  int maximumThreads;
  int staticShared;
  int attributes[32];
} Function;
struct Module {
  int counter;  // the module's one variable
  int entryCount;
  Function entries[MAXIMUM_ENTRIES];
};
typedef struct {
  unsigned grid[3], block[3], sharedBytes;
  void *stream;
  struct { int id; char padding[4]; unsigned value[16]; } *attributes;
  unsigned attributeCount;
} LaunchConfig;
typedef struct {
  Function *function;  // null for a memset
  unsigned threads;
  unsigned char values[MAXIMUM_PARAMETERS][MAXIMUM_PARAMETER_BYTES];
  CUdeviceptr address;
  unsigned char byte;
  size_t bytes;
} Node;
typedef struct { int count; Node *nodes; } Graph;

static CUresult sticky = SUCCESS;
static Graph *capturing = NULL;
static int pendingHang = 0;
static double clockMs = 0;
static size_t allocatedBytes = 0;

static void note(const char *format, ...) {
  FILE *file = fopen(LOG_PATH, "a");
  va_list values;
  va_start(values, format);
  vfprintf(file, format, values);
  va_end(values);
  fputc('\n', file);
  fclose(file);
}

#define CHECK() if (sticky != SUCCESS) return sticky

// --- devices and contexts

CUresult cuInit(unsigned flags) { return flags == 0 ? SUCCESS : INVALID_VALUE; }
CUresult cuDriverGetVersion(int *version) { return *version = 13000, SUCCESS; }
CUresult cuDeviceGetCount(int *count) { return *count = 1, SUCCESS; }
CUresult cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal == 0 ? SUCCESS : 101; }
CUresult cuDeviceGetName(char *name, int length, int device) { return snprintf(name, length, "Stub GPU"), SUCCESS; }
CUresult cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  for (int i = 0; i < 16; i++) uuid[i] = i < 4 ? (unsigned)(UUID_WORD) >> (24 - 8 * i) : i;
  return SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = 1 << 30, SUCCESS; }
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break;
    case 4: *value = 64; break;
    case 5: *value = 2147483647; break;
    case 6: case 7: *value = 65535; break;
    case 8: *value = 49152; break;
    case 10: *value = 32; break;
    case 12: case 82: *value = 65536; break;
    case 13: *value = 1980000; break;
    case 16: *value = 132; break;
    case 36: *value = 3201000; break;
    case 37: *value = 6144; break;
    case 38: *value = 62914560; break;
    case 39: *value = 2048; break;
    case 75: *value = 9; break;
    case 76: *value = 0; break;
    case 81: *value = 233472; break;
    case 95: case 120: *value = 1; break;
    case 97: *value = 232448; break;
    case 106: *value = 32; break;
    case 111: *value = 1024; break;
    default: *value = 0;
  }
  return SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(void **context, int device) { return *context = (void *)1, SUCCESS; }
CUresult cuDevicePrimaryCtxRelease_v2(int device) { return SUCCESS; }
CUresult cuCtxSetCurrent(void *context) { return SUCCESS; }
CUresult cuGetErrorName(CUresult code, const char **name) {
  *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_STUB";
  return SUCCESS;
}
CUresult cuGetErrorString(CUresult code, const char **text) { return *text = "as the stub says", SUCCESS; }

static CUresult settle(void) {
  if (pendingHang) for (;;) pause();
  return sticky;
}
CUresult cuCtxSynchronize(void) { return settle(); }

// --- memory

CUresult cuMemGetInfo_v2(size_t *freeBytes, size_t *total) {
  *total = 1 << 30;
  *freeBytes = *total - allocatedBytes;
  return SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  CHECK();
  if (bytes == 0) return INVALID_VALUE;
  if (allocatedBytes + bytes > (1 << 30)) return OUT_OF_MEMORY;
  size_t *block = aligned_alloc(512, (bytes + 512 + 511) / 512 * 512);
  *block = bytes;
  allocatedBytes += bytes;
  *address = (CUdeviceptr)block + 512;
  return SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  CHECK();
  size_t *block = (size_t *)(address - 512);
  allocatedBytes -= *block;
  return free(block), SUCCESS;
}
/* As the driver: what allocates is not permitted while a stream is capturing. */
CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
  if (capturing) return 900;
  return *address = calloc(1, bytes), SUCCESS;
}
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned flags) {
  return *address = (CUdeviceptr)host, SUCCESS;
}
CUresult cuMemFreeHost(void *address) { return free(address), SUCCESS; }
/* Nothing is on the default stream: another channel to the GPU would make launches of a graph begin later. */
#define CHECK_STREAM() \
  CHECK();             \
  if (!stream) return INVALID_VALUE
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, void *stream) {
  CHECK_STREAM();
  return memcpy((void *)to, from, bytes), SUCCESS;
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, void *stream) {
  CHECK_STREAM();
  return memcpy(to, (void *)from, bytes), SUCCESS;
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, void *stream) {
  CHECK_STREAM();
  note("restore %zu bytes", bytes);
  return memcpy((void *)to, (void *)from, bytes), SUCCESS;
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, void *stream) {
  CHECK_STREAM();
  if (to % 2) return INVALID_VALUE;
  for (size_t i = 0; i < count; i++) ((unsigned short *)to)[i] = value;
  return SUCCESS;
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, void *stream) {
  CHECK_STREAM();
  if (to % 4) return INVALID_VALUE;
  for (size_t i = 0; i < count; i++) ((unsigned *)to)[i] = value;
  return SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void) {
  CHECK();
  note("give up persisting lines");
  return SUCCESS;
}

// --- modules: the entries of PTX text

static size_t sizeOfType(const char *type) {
  size_t bits = strtoul(type + 2, NULL, 10);
  return bits / 8;
}
static void parseEntry(Function *fn, const char *text) {
  const char *end = strchr(text, ')');
  const char *body = strchr(end, '{');
  const char *directive = strstr(end, ".maxntid");
  fn->maximumThreads = directive && directive < body ? atoi(directive + 8) : 1024;
  sscanf(text, "%127[^( \t\n]", fn->name);
  for (const char *at = strstr(text, ".param"); at && at < end; at = strstr(at + 6, ".param")) {
    const char *type = strstr(at + 6, ".");
    size_t bytes = 0;
    if (strncmp(type, ".align", 6) == 0) type = strstr(type + 6, ".");
    bytes = sizeOfType(type);
    const char *bracket = strchr(type, '[');
    const char *comma = strpbrk(type, ",)");
    if (bracket && bracket < comma) bytes = strtoul(bracket + 1, NULL, 10);
    fn->parameterBytes[fn->parameterCount++] = bytes;
  }
}
CUresult cuModuleLoadDataEx(Module **result, const char *image, unsigned count, int *options, void **values) {
  CHECK();
  if (!strstr(image, ".version")) {
    for (unsigned i = 0; i < count; i++)
      if (options[i] == 5) strcpy(values[i], "ptxas error: not PTX");
    return INVALID_PTX;
  }
  Module *module = calloc(1, sizeof *module);
  if (!strstr(image, "warpsmith_")) note("load");
  for (const char *at = strstr(image, ".entry "); at; at = strstr(at + 7, ".entry ")) {
    Function *fn = &module->entries[module->entryCount++];
    fn->module = module;
    parseEntry(fn, at + 7);
  }
  return *result = module, SUCCESS;
}
CUresult cuModuleUnload(Module *module) {
  CHECK();
  return free(module), SUCCESS;
}
CUresult cuModuleGetFunction(Function **fn, Module *module, const char *name) {
  CHECK();
  for (int i = 0; i < module->entryCount; i++)
    if (strcmp(module->entries[i].name, name) == 0) return *fn = &module->entries[i], SUCCESS;
  return NOT_FOUND;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, Module *module, const char *name) {
  CHECK();
  if (strcmp(name, "calls") != 0) return NOT_FOUND;
  *address = (CUdeviceptr)&module->counter;
  return *bytes = sizeof module->counter, SUCCESS;
}
CUresult cuFuncGetAttribute(int *value, int attribute, Function *fn) {
  static const int VALUES[] = {0, 0, 0, 16, 40};
  *value = attribute == 0 ? fn->maximumThreads : attribute <= 4 ? VALUES[attribute] : fn->attributes[attribute];
  return SUCCESS;
}
CUresult cuFuncSetAttribute(Function *fn, int attribute, int value) {
  CHECK();
  fn->attributes[attribute] = value;
  note("attribute %s %d=%d", fn->name, attribute, value);
  return SUCCESS;
}
CUresult cuFuncGetParamInfo(Function *fn, size_t index, size_t *offset, size_t *bytes) {
  if (index >= (size_t)fn->parameterCount) return INVALID_VALUE;
  *offset = 0;
  *bytes = fn->parameterBytes[index];
  return SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, Function *fn, int threads, size_t shared) {
  return *count = 2048 / threads, SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int *count, Function *fn, const LaunchConfig *config) {
  *count = 132 / (config->attributes[0].value[0] * config->attributes[0].value[1] * config->attributes[0].value[2]);
  return SUCCESS;
}
CUresult cuTensorMapEncodeTiled(void *map, int type, unsigned rank, CUdeviceptr address, const uint64_t *dimensions,
                                const uint64_t *strides, const unsigned *box, const unsigned *elementStrides,
                                int interleave, int swizzle, int promotion, int fill) {
  note("tensor-map type %d rank %u dim %llu stride %llu box %u,%u swizzle %d promotion %d fill %d aligned %d", type, rank,
       (unsigned long long)dimensions[0], (unsigned long long)strides[0], box[0], box[1], swizzle, promotion, fill,
       (uintptr_t)map % 128 == 0);
  if (box[0] > 256) return INVALID_VALUE;
  memset(map, 0x5a, 128);
  return SUCCESS;
}

// --- what the entries do

static unsigned mix(unsigned x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}
static const int WIDTH[] = {2, 2, 4, 8, 1, 1, 2, 2, 4, 4, 8, 8};

// Small whole numbers from the key, whatever the rule: what is drawn need only be what is found again.
static void runDraw(Node *node, int counting) {
  struct Job { CUdeviceptr address; uint64_t count, firstChunk; unsigned dtype, rule, k0, k1; uint64_t parameters[4]; } *jobs;
  uint64_t count = *(uint64_t *)node->values[1];
  jobs = *(struct Job **)node->values[0];
  for (uint64_t j = 0; j < count; j++) {
    uint64_t width = WIDTH[jobs[j].dtype], equal = 0;
    for (uint64_t i = 0; i < jobs[j].count; i++) {
      uint64_t value = mix(mix((unsigned)i + jobs[j].k0) ^ jobs[j].k1) & 127;
      void *at = (char *)jobs[j].address + i * width;
      if (counting) equal += memcmp(at, &value, width) == 0;
      else memcpy(at, &value, width);
    }
    if (counting) (*(uint64_t **)node->values[3])[j] = equal;
  }
}
static void runFill(Node *node, int counting) {
  struct Job { CUdeviceptr address; uint64_t bytes, firstChunk; unsigned char pattern[8]; uint64_t width; } *jobs;
  uint64_t count = *(uint64_t *)node->values[1];
  jobs = *(struct Job **)node->values[0];
  for (uint64_t j = 0; j < count; j++) {
    unsigned char *at = (unsigned char *)jobs[j].address;
    uint64_t equal = 0;
    if (!counting) for (uint64_t i = 0; i < jobs[j].bytes; i++) at[i] = jobs[j].pattern[i % jobs[j].width];
    else for (uint64_t i = 0; i + jobs[j].width <= jobs[j].bytes; i += jobs[j].width)
      equal += memcmp(at + i, jobs[j].pattern, jobs[j].width) == 0;
    if (counting) (*(uint64_t **)node->values[3])[j] = equal;
  }
}
static void runCompare(Node *node) {
  struct Job { CUdeviceptr left, right; uint64_t count, firstChunk; unsigned dtype, unused; double tolerance; } *jobs;
  uint64_t count = *(uint64_t *)node->values[1];
  jobs = *(struct Job **)node->values[0];
  for (uint64_t j = 0; j < count; j++) {
    uint64_t equal = 0, width = WIDTH[jobs[j].dtype];
    for (uint64_t i = 0; i < jobs[j].count; i++)
      equal += memcmp((char *)jobs[j].left + i * width, (char *)jobs[j].right + i * width, width) == 0;
    (*(uint64_t **)node->values[3])[j] = equal;
  }
}
static void execute(Node *node) {
  if (sticky != SUCCESS) return;
  if (!node->function) {
    memset((void *)node->address, node->byte, node->bytes);
    return;
  }
  const char *name = node->function->name;
  if (strcmp(name, "warpsmith_hold") == 0 || strcmp(name, "warpsmith_empty") == 0) return;
  clockMs += 0.001;
  if (strcmp(name, "warpsmith_draw") == 0) runDraw(node, 0);
  else if (strcmp(name, "warpsmith_match") == 0) runDraw(node, 1);
  else if (strcmp(name, "warpsmith_fill") == 0) runFill(node, 0);
  else if (strcmp(name, "warpsmith_count") == 0) runFill(node, 1);
  else if (strcmp(name, "warpsmith_compare") == 0) runCompare(node);
  else if (strcmp(name, "add_one") == 0 || strcmp(name, "add_one_in_25_us") == 0) {
    if (name[7]) clockMs += 0.024;
    int *in = *(int **)node->values[0], *out = *(int **)node->values[1], n = *(int *)node->values[2];
    for (int i = 0; i < n && i < (int)node->threads; i++) out[i] = in[i] + 1;
  } else if (strcmp(name, "count_calls") == 0) **(int **)node->values[0] = node->function->module->counter++;
  else if (strncmp(name, "dump", 4) == 0) memcpy(*(void **)node->values[0], node->values[1], node->function->parameterBytes[1]);
  else if (strcmp(name, "follow") == 0) **(int **)node->values[1] = *(*(int ***)node->values[0])[1];
  else if (strcmp(name, "read_pointer") == 0) **(uint64_t **)node->values[1] = **(uint64_t **)node->values[0];
  else if (strcmp(name, "overrun") == 0) (*(char **)node->values[0])[*(int *)node->values[1]] = 1;
  else if (strcmp(name, "hang") == 0) pendingHang = 1;
  else if (strcmp(name, "crash") == 0) raise(SIGSEGV);
  else if (strcmp(name, "illegal") == 0) sticky = 700;
  else if (strcmp(name, "misaligned") == 0) sticky = 716;
  else if (strcmp(name, "trap") == 0) sticky = 719;
}
static void submit(Node *node) {
  if (capturing) capturing->nodes[capturing->count++] = *node;
  else execute(node);
}
CUresult cuLaunchKernelEx(const LaunchConfig *config, Function *fn, void **parameters, void **extra) {
  CHECK();
  if (strcmp(fn->name, "refused") == 0) return 701;
  char attributes[256] = "";
  for (unsigned i = 0; i < config->attributeCount; i++)
    sprintf(attributes + strlen(attributes), " [%d: %u %u %u]", config->attributes[i].id, config->attributes[i].value[0],
            config->attributes[i].value[1], config->attributes[i].value[2]);
  note("launch %s grid %u,%u,%u block %u,%u,%u shared %u%s%s", fn->name, config->grid[0], config->grid[1],
       config->grid[2], config->block[0], config->block[1], config->block[2], config->sharedBytes, attributes,
       capturing ? " captured" : "");
  static Node node;
  memset(&node, 0, sizeof node);
  node.function = fn;
  node.threads = config->grid[0] * config->grid[1] * config->grid[2] * config->block[0] * config->block[1] * config->block[2];
  for (int i = 0; i < fn->parameterCount; i++) memcpy(node.values[i], parameters[i], fn->parameterBytes[i]);
  submit(&node);
  return SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, void *stream) {
  CHECK_STREAM();
  note("memset %zu bytes to %d%s", count, value, capturing ? " captured" : "");
  static Node node;
  memset(&node, 0, sizeof node);
  node.address = to;
  node.byte = value;
  node.bytes = count;
  submit(&node);
  return SUCCESS;
}

// --- streams, events, graphs

CUresult cuStreamCreate(void **stream, unsigned flags) { return *stream = malloc(8), SUCCESS; }
CUresult cuStreamSynchronize(void *stream) { return settle(); }
CUresult cuStreamBeginCapture_v2(void *stream, int mode) {
  CHECK();
  capturing = calloc(1, sizeof *capturing);
  capturing->nodes = calloc(MAXIMUM_NODES, sizeof(Node));
  return SUCCESS;
}
CUresult cuStreamEndCapture(void *stream, Graph **graph) {
  if (!capturing) return 903;
  *graph = capturing;
  capturing = NULL;
  return SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(Graph **exec, Graph *graph, uint64_t flags) {
  CHECK();
  note("instantiate %d nodes", graph->count);
  Graph *copy = malloc(sizeof *copy);
  copy->count = graph->count;
  copy->nodes = calloc(graph->count + 1, sizeof(Node));
  memcpy(copy->nodes, graph->nodes, graph->count * sizeof(Node));
  return *exec = copy, SUCCESS;
}
CUresult cuGraphDestroy(Graph *graph) { return free(graph->nodes), free(graph), SUCCESS; }
CUresult cuGraphExecDestroy(Graph *exec) { return free(exec->nodes), free(exec), SUCCESS; }
CUresult cuGraphUpload(Graph *exec, void *stream) { return sticky; }
CUresult cuGraphLaunch(Graph *exec, void *stream) {
  CHECK();
  for (int i = 0; i < exec->count; i++) execute(&exec->nodes[i]);
  return SUCCESS;
}
CUresult cuEventCreate(double **event, unsigned flags) { return *event = calloc(1, sizeof(double)), SUCCESS; }
CUresult cuEventRecord(double *event, void *stream) {
  CHECK();
  return *event = clockMs, SUCCESS;
}
CUresult cuEventSynchronize(double *event) { return settle(); }
CUresult cuEventElapsedTime(float *ms, double *start, double *end) { return *ms = (float)(*end - *start), SUCCESS; }
