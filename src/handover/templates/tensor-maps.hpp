namespace detail {

typedef CUresult (*EncodeTiled)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

inline EncodeTiled encode_tiled() {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &result);
#else
  const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &entry, cudaEnableDefault, &result);
#endif
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return nullptr;
  return reinterpret_cast<EncodeTiled>(entry);
}

inline void put_tensor_map(Launch& step, std::size_t at, const void* address, const char* place, Check& check,
                           CUtensorMapDataType type, unsigned rank, const std::int64_t* dimensions,
                           const std::int64_t* strides, const std::int64_t* box, const std::int64_t* element_strides,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  static const EncodeTiled encode = encode_tiled();
  if (encode == nullptr)
    return check.refuse_text(std::string(place) + ": this driver can't encode tensor maps; CUDA 12 or later can");
  cuuint64_t dimensions64[5], strides64[5];
  cuuint32_t box32[5], element_strides32[5];
  for (unsigned axis = 0; axis < rank; ++axis) {
    dimensions64[axis] = static_cast<cuuint64_t>(dimensions[axis]);
    strides64[axis] = axis + 1 < rank ? static_cast<cuuint64_t>(strides[axis]) : 0;
    box32[axis] = static_cast<cuuint32_t>(box[axis]);
    element_strides32[axis] = static_cast<cuuint32_t>(element_strides[axis]);
  }
  alignas(64) CUtensorMap map;
  const CUresult result = encode(&map, type, rank, const_cast<void*>(address), dimensions64, strides64, box32,
                                 element_strides32, interleave, swizzle, promotion, fill);
  if (result != CUDA_SUCCESS)
    return check.refuse_text(std::string(place) + ": cuTensorMapEncodeTiled refuses the tensor map (error " +
                             Check::print(static_cast<double>(result)) +
                             "); addresses and strides must be multiples of 16 bytes");
  std::memcpy(step.arguments + at, &map, sizeof map);
}

}  // namespace detail
