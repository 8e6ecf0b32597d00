# find_package(multifora) gives multifora::shared and multifora::static. Relocatable: everything is found from here.
get_filename_component(_multifora_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET multifora::shared)
  add_library(multifora::shared SHARED IMPORTED)
  set_target_properties(multifora::shared PROPERTIES
    IMPORTED_LOCATION "${_multifora_prefix}/lib/libmultifora${CMAKE_SHARED_LIBRARY_SUFFIX}"
    INTERFACE_INCLUDE_DIRECTORIES "${_multifora_prefix}/include")
endif()

if(NOT TARGET multifora::static)
  add_library(multifora::static STATIC IMPORTED)
  set_target_properties(multifora::static PROPERTIES
    IMPORTED_LOCATION "${_multifora_prefix}/lib/libmultifora${CMAKE_STATIC_LIBRARY_SUFFIX}"
    INTERFACE_INCLUDE_DIRECTORIES "${_multifora_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()

unset(_multifora_prefix)
