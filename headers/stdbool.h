// All of it is in the prelude.
#pragma once
#include "warpsmith/prelude.h"
