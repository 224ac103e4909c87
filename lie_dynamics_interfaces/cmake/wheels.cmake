# What a build against ROS 2 from wheels needs besides CMakeLists.txt. Included after its project() by a setting in
# pyproject.toml; colcon never does.

# The wheels keep their CMake packages in the environment's root; the build backend searches its site-packages.
set(roots)
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
  get_filename_component(root "${prefix}/../../.." ABSOLUTE)
  if(prefix MATCHES "site-packages/*$" AND IS_DIRECTORY "${root}/share/ament_index")
    list(APPEND roots "${root}")
  else()
    list(APPEND roots "${prefix}")
  endif()
endforeach()
list(REMOVE_DUPLICATES roots)
set(CMAKE_PREFIX_PATH ${roots})
list(JOIN roots ":" roots)
set(ENV{AMENT_PREFIX_PATH} "${roots}")

# Targets imported from the wheels name the Python include directory of the machine that made the wheels. CMake refuses
# include directories that do not exist.
function(_drop_missing_include_directories)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    if(target MATCHES "__rosidl_generator_py$")
      get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
      set(kept)
      foreach(candidate IN LISTS directories)
        if(candidate MATCHES "^\\$<" OR IS_DIRECTORY "${candidate}")
          list(APPEND kept "${candidate}")
        endif()
      endforeach()
      set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${kept}")
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL _drop_missing_include_directories)

# The generated C++ reads thousands of lines of headers for each message: all messages are compiled at once. Those made
# of others of the package have to be listed behind these, for rosidl specialises templates.
function(_compile_together)
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    if(target MATCHES "__rosidl_(typesupport_(c|cpp|fastrtps_c|fastrtps_cpp|introspection_c|introspection_cpp)|generator_py)$")
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL _compile_together)
