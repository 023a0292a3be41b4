// Textures and surfaces: by name only. A kernel that reads or writes one is `unsupported`.
#pragma once

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;
struct cudaArray;
typedef cudaArray* cudaArray_t;
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };

#define __WS_TEXTURE(name)                                     \
  template <class type, class... coordinates>                  \
  __device__ type name(cudaTextureObject_t, coordinates...)    \
      __WS_UNSUPPORTED("textures (" #name "); read a buffer instead");
__WS_TEXTURE(tex1Dfetch)
__WS_TEXTURE(tex1D)
__WS_TEXTURE(tex1DLod)
__WS_TEXTURE(tex1DGrad)
__WS_TEXTURE(tex1DLayered)
__WS_TEXTURE(tex2D)
__WS_TEXTURE(tex2DLod)
__WS_TEXTURE(tex2DGrad)
__WS_TEXTURE(tex2Dgather)
__WS_TEXTURE(tex2DLayered)
__WS_TEXTURE(tex3D)
__WS_TEXTURE(tex3DLod)
__WS_TEXTURE(texCubemap)
__WS_TEXTURE(texCubemapLayered)
#undef __WS_TEXTURE

#define __WS_SURFACE(name)                                                                                            \
  template <class type, class... coordinates>                                                                        \
  __device__ type name##read(cudaSurfaceObject_t, coordinates...)                                                    \
      __WS_UNSUPPORTED("surfaces (" #name "read); read a buffer instead");                                           \
  template <class type, class... coordinates>                                                                        \
  __device__ void name##read(type*, cudaSurfaceObject_t, coordinates...)                                             \
      __WS_UNSUPPORTED("surfaces (" #name "read); read a buffer instead");                                           \
  template <class type, class... coordinates>                                                                        \
  __device__ void name##write(type, cudaSurfaceObject_t, coordinates...)                                             \
      __WS_UNSUPPORTED("surfaces (" #name "write); write a buffer instead");
__WS_SURFACE(surf1D)
__WS_SURFACE(surf2D)
__WS_SURFACE(surf3D)
__WS_SURFACE(surf1DLayered)
__WS_SURFACE(surf2DLayered)
#undef __WS_SURFACE
