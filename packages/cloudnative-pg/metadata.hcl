# What CloudNativePG's tools for images of extensions ask of each of them: README.md of this folder.
metadata = {
  name                     = "gpusort"
  sql_name                 = "gpusort"
  image_name               = "gpusort"
  licenses                 = ["PostgreSQL"]
  shared_preload_libraries = ["gpusort"]
  postgresql_parameters    = {}
  extension_control_path   = []
  dynamic_library_path     = []
  ld_library_path          = []
  bin_path                 = []
  env                      = {}
  auto_update_os_libs      = false
  required_extensions      = []
  create_extension         = true

  versions = {
    bookworm = {
      "18" = {
        package = "1.1-1"
        sql     = "1.1"
      }
    }
    trixie = {
      "18" = {
        package = "1.1-1"
        sql     = "1.1"
      }
    }
  }
}
