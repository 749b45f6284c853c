"""The columns of `information_schema` as PostgreSQL 15 has them, written as in `columns_catalog.py`."""

from __future__ import annotations

COLUMNS = """\
administrable_role_authorizations 0 grantee:name role_name:name is_grantable:text
applicable_roles 0 grantee:name role_name:name is_grantable:text
attributes 0 udt_catalog:name udt_schema:name udt_name:name attribute_name:name ordinal_position:int4
  attribute_default:text is_nullable:text data_type:text character_maximum_length:int4
  character_octet_length:int4 character_set_catalog:name character_set_schema:name character_set_name:name
  collation_catalog:name collation_schema:name collation_name:name numeric_precision:int4
  numeric_precision_radix:int4 numeric_scale:int4 datetime_precision:int4 interval_type:text
  interval_precision:int4 attribute_udt_catalog:name attribute_udt_schema:name attribute_udt_name:name
  scope_catalog:name scope_schema:name scope_name:name maximum_cardinality:int4 dtd_identifier:name
  is_derived_reference_attribute:text
character_sets 0 character_set_catalog:name character_set_schema:name character_set_name:name
  character_repertoire:name form_of_use:name default_collate_catalog:name default_collate_schema:name
  default_collate_name:name
check_constraint_routine_usage 0 constraint_catalog:name constraint_schema:name constraint_name:name
  specific_catalog:name specific_schema:name specific_name:name
check_constraints 0 constraint_catalog:name constraint_schema:name constraint_name:name check_clause:text
collation_character_set_applicability 0 collation_catalog:name collation_schema:name collation_name:name
  character_set_catalog:name character_set_schema:name character_set_name:name
collations 0 collation_catalog:name collation_schema:name collation_name:name pad_attribute:text
column_column_usage 0 table_catalog:name table_schema:name table_name:name column_name:name
  dependent_column:name
column_domain_usage 0 domain_catalog:name domain_schema:name domain_name:name table_catalog:name
  table_schema:name table_name:name column_name:name
column_options 0 table_catalog:name table_schema:name table_name:name column_name:name option_name:name
  option_value:text
column_privileges 0 grantor:name grantee:name table_catalog:name table_schema:name table_name:name
  column_name:name privilege_type:text is_grantable:text
column_udt_usage 0 udt_catalog:name udt_schema:name udt_name:name table_catalog:name table_schema:name
  table_name:name column_name:name
columns 0 table_catalog:name table_schema:name table_name:name column_name:name ordinal_position:int4
  column_default:text is_nullable:text data_type:text character_maximum_length:int4
  character_octet_length:int4 numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4
  datetime_precision:int4 interval_type:text interval_precision:int4 character_set_catalog:name
  character_set_schema:name character_set_name:name collation_catalog:name collation_schema:name
  collation_name:name domain_catalog:name domain_schema:name domain_name:name udt_catalog:name
  udt_schema:name udt_name:name scope_catalog:name scope_schema:name scope_name:name
  maximum_cardinality:int4 dtd_identifier:name is_self_referencing:text is_identity:text
  identity_generation:text identity_start:text identity_increment:text identity_maximum:text
  identity_minimum:text identity_cycle:text is_generated:text generation_expression:text is_updatable:text
constraint_column_usage 0 table_catalog:name table_schema:name table_name:name column_name:name
  constraint_catalog:name constraint_schema:name constraint_name:name
constraint_table_usage 0 table_catalog:name table_schema:name table_name:name constraint_catalog:name
  constraint_schema:name constraint_name:name
data_type_privileges 0 object_catalog:name object_schema:name object_name:name object_type:text
  dtd_identifier:name
domain_constraints 0 constraint_catalog:name constraint_schema:name constraint_name:name domain_catalog:name
  domain_schema:name domain_name:name is_deferrable:text initially_deferred:text
domain_udt_usage 0 udt_catalog:name udt_schema:name udt_name:name domain_catalog:name domain_schema:name
  domain_name:name
domains 0 domain_catalog:name domain_schema:name domain_name:name data_type:text
  character_maximum_length:int4 character_octet_length:int4 character_set_catalog:name
  character_set_schema:name character_set_name:name collation_catalog:name collation_schema:name
  collation_name:name numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4
  datetime_precision:int4 interval_type:text interval_precision:int4 domain_default:text udt_catalog:name
  udt_schema:name udt_name:name scope_catalog:name scope_schema:name scope_name:name
  maximum_cardinality:int4 dtd_identifier:name
element_types 0 object_catalog:name object_schema:name object_name:name object_type:text
  collection_type_identifier:name data_type:text character_maximum_length:int4 character_octet_length:int4
  character_set_catalog:name character_set_schema:name character_set_name:name collation_catalog:name
  collation_schema:name collation_name:name numeric_precision:int4 numeric_precision_radix:int4
  numeric_scale:int4 datetime_precision:int4 interval_type:text interval_precision:int4 domain_default:text
  udt_catalog:name udt_schema:name udt_name:name scope_catalog:name scope_schema:name scope_name:name
  maximum_cardinality:int4 dtd_identifier:name
enabled_roles 0 role_name:name
foreign_data_wrapper_options 0 foreign_data_wrapper_catalog:name foreign_data_wrapper_name:name
  option_name:name option_value:text
foreign_data_wrappers 0 foreign_data_wrapper_catalog:name foreign_data_wrapper_name:name
  authorization_identifier:name library_name:text foreign_data_wrapper_language:text
foreign_server_options 0 foreign_server_catalog:name foreign_server_name:name option_name:name
  option_value:text
foreign_servers 0 foreign_server_catalog:name foreign_server_name:name foreign_data_wrapper_catalog:name
  foreign_data_wrapper_name:name foreign_server_type:text foreign_server_version:text
  authorization_identifier:name
foreign_table_options 0 foreign_table_catalog:name foreign_table_schema:name foreign_table_name:name
  option_name:name option_value:text
foreign_tables 0 foreign_table_catalog:name foreign_table_schema:name foreign_table_name:name
  foreign_server_catalog:name foreign_server_name:name
information_schema_catalog_name 0 catalog_name:name
key_column_usage 0 constraint_catalog:name constraint_schema:name constraint_name:name table_catalog:name
  table_schema:name table_name:name column_name:name ordinal_position:int4
  position_in_unique_constraint:int4
parameters 0 specific_catalog:name specific_schema:name specific_name:name ordinal_position:int4
  parameter_mode:text is_result:text as_locator:text parameter_name:name data_type:text
  character_maximum_length:int4 character_octet_length:int4 character_set_catalog:name
  character_set_schema:name character_set_name:name collation_catalog:name collation_schema:name
  collation_name:name numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4
  datetime_precision:int4 interval_type:text interval_precision:int4 udt_catalog:name udt_schema:name
  udt_name:name scope_catalog:name scope_schema:name scope_name:name maximum_cardinality:int4
  dtd_identifier:name parameter_default:text
referential_constraints 0 constraint_catalog:name constraint_schema:name constraint_name:name
  unique_constraint_catalog:name unique_constraint_schema:name unique_constraint_name:name match_option:text
  update_rule:text delete_rule:text
role_column_grants 0 grantor:name grantee:name table_catalog:name table_schema:name table_name:name
  column_name:name privilege_type:text is_grantable:text
role_routine_grants 0 grantor:name grantee:name specific_catalog:name specific_schema:name
  specific_name:name routine_catalog:name routine_schema:name routine_name:name privilege_type:text
  is_grantable:text
role_table_grants 0 grantor:name grantee:name table_catalog:name table_schema:name table_name:name
  privilege_type:text is_grantable:text with_hierarchy:text
role_udt_grants 0 grantor:name grantee:name udt_catalog:name udt_schema:name udt_name:name
  privilege_type:text is_grantable:text
role_usage_grants 0 grantor:name grantee:name object_catalog:name object_schema:name object_name:name
  object_type:text privilege_type:text is_grantable:text
routine_column_usage 0 specific_catalog:name specific_schema:name specific_name:name routine_catalog:name
  routine_schema:name routine_name:name table_catalog:name table_schema:name table_name:name
  column_name:name
routine_privileges 0 grantor:name grantee:name specific_catalog:name specific_schema:name specific_name:name
  routine_catalog:name routine_schema:name routine_name:name privilege_type:text is_grantable:text
routine_routine_usage 0 specific_catalog:name specific_schema:name specific_name:name routine_catalog:name
  routine_schema:name routine_name:name
routine_sequence_usage 0 specific_catalog:name specific_schema:name specific_name:name routine_catalog:name
  routine_schema:name routine_name:name sequence_catalog:name sequence_schema:name sequence_name:name
routine_table_usage 0 specific_catalog:name specific_schema:name specific_name:name routine_catalog:name
  routine_schema:name routine_name:name table_catalog:name table_schema:name table_name:name
routines 0 specific_catalog:name specific_schema:name specific_name:name routine_catalog:name
  routine_schema:name routine_name:name routine_type:text module_catalog:name module_schema:name
  module_name:name udt_catalog:name udt_schema:name udt_name:name data_type:text
  character_maximum_length:int4 character_octet_length:int4 character_set_catalog:name
  character_set_schema:name character_set_name:name collation_catalog:name collation_schema:name
  collation_name:name numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4
  datetime_precision:int4 interval_type:text interval_precision:int4 type_udt_catalog:name
  type_udt_schema:name type_udt_name:name scope_catalog:name scope_schema:name scope_name:name
  maximum_cardinality:int4 dtd_identifier:name routine_body:text routine_definition:text external_name:text
  external_language:text parameter_style:text is_deterministic:text sql_data_access:text is_null_call:text
  sql_path:text schema_level_routine:text max_dynamic_result_sets:int4 is_user_defined_cast:text
  is_implicitly_invocable:text security_type:text to_sql_specific_catalog:name to_sql_specific_schema:name
  to_sql_specific_name:name as_locator:text created:timestamptz last_altered:timestamptz
  new_savepoint_level:text is_udt_dependent:text result_cast_from_data_type:text result_cast_as_locator:text
  result_cast_char_max_length:int4 result_cast_char_octet_length:int4 result_cast_char_set_catalog:name
  result_cast_char_set_schema:name result_cast_char_set_name:name result_cast_collation_catalog:name
  result_cast_collation_schema:name result_cast_collation_name:name result_cast_numeric_precision:int4
  result_cast_numeric_precision_radix:int4 result_cast_numeric_scale:int4
  result_cast_datetime_precision:int4 result_cast_interval_type:text result_cast_interval_precision:int4
  result_cast_type_udt_catalog:name result_cast_type_udt_schema:name result_cast_type_udt_name:name
  result_cast_scope_catalog:name result_cast_scope_schema:name result_cast_scope_name:name
  result_cast_maximum_cardinality:int4 result_cast_dtd_identifier:name
schemata 0 catalog_name:name schema_name:name schema_owner:name default_character_set_catalog:name
  default_character_set_schema:name default_character_set_name:name sql_path:text
sequences 0 sequence_catalog:name sequence_schema:name sequence_name:name data_type:text
  numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 start_value:text minimum_value:text
  maximum_value:text increment:text cycle_option:text
sql_features 0 feature_id:text feature_name:text sub_feature_id:text sub_feature_name:text is_supported:text
  is_verified_by:text comments:text
sql_implementation_info 0 implementation_info_id:text implementation_info_name:text integer_value:int4
  character_value:text comments:text
sql_parts 0 feature_id:text feature_name:text is_supported:text is_verified_by:text comments:text
sql_sizing 0 sizing_id:int4 sizing_name:text supported_value:int4 comments:text
table_constraints 0 constraint_catalog:name constraint_schema:name constraint_name:name table_catalog:name
  table_schema:name table_name:name constraint_type:text is_deferrable:text initially_deferred:text
  enforced:text nulls_distinct:text
table_privileges 0 grantor:name grantee:name table_catalog:name table_schema:name table_name:name
  privilege_type:text is_grantable:text with_hierarchy:text
tables 0 table_catalog:name table_schema:name table_name:name table_type:text
  self_referencing_column_name:name reference_generation:text user_defined_type_catalog:name
  user_defined_type_schema:name user_defined_type_name:name is_insertable_into:text is_typed:text
  commit_action:text
transforms 0 udt_catalog:name udt_schema:name udt_name:name specific_catalog:name specific_schema:name
  specific_name:name group_name:name transform_type:text
triggered_update_columns 0 trigger_catalog:name trigger_schema:name trigger_name:name
  event_object_catalog:name event_object_schema:name event_object_table:name event_object_column:name
triggers 0 trigger_catalog:name trigger_schema:name trigger_name:name event_manipulation:text
  event_object_catalog:name event_object_schema:name event_object_table:name action_order:int4
  action_condition:text action_statement:text action_orientation:text action_timing:text
  action_reference_old_table:name action_reference_new_table:name action_reference_old_row:name
  action_reference_new_row:name created:timestamptz
udt_privileges 0 grantor:name grantee:name udt_catalog:name udt_schema:name udt_name:name
  privilege_type:text is_grantable:text
usage_privileges 0 grantor:name grantee:name object_catalog:name object_schema:name object_name:name
  object_type:text privilege_type:text is_grantable:text
user_defined_types 0 user_defined_type_catalog:name user_defined_type_schema:name
  user_defined_type_name:name user_defined_type_category:text is_instantiable:text is_final:text
  ordering_form:text ordering_category:text ordering_routine_catalog:name ordering_routine_schema:name
  ordering_routine_name:name reference_type:text data_type:text character_maximum_length:int4
  character_octet_length:int4 character_set_catalog:name character_set_schema:name character_set_name:name
  collation_catalog:name collation_schema:name collation_name:name numeric_precision:int4
  numeric_precision_radix:int4 numeric_scale:int4 datetime_precision:int4 interval_type:text
  interval_precision:int4 source_dtd_identifier:name ref_dtd_identifier:name
user_mapping_options 0 authorization_identifier:name foreign_server_catalog:name foreign_server_name:name
  option_name:name option_value:text
user_mappings 0 authorization_identifier:name foreign_server_catalog:name foreign_server_name:name
view_column_usage 0 view_catalog:name view_schema:name view_name:name table_catalog:name table_schema:name
  table_name:name column_name:name
view_routine_usage 0 table_catalog:name table_schema:name table_name:name specific_catalog:name
  specific_schema:name specific_name:name
view_table_usage 0 view_catalog:name view_schema:name view_name:name table_catalog:name table_schema:name
  table_name:name
views 0 table_catalog:name table_schema:name table_name:name view_definition:text check_option:text
  is_updatable:text is_insertable_into:text is_trigger_updatable:text is_trigger_deletable:text
  is_trigger_insertable_into:text
"""
